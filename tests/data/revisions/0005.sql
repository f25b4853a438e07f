-- A text with a signal.
insert into commonlore.evidence_security_event (team_id, space_epoch, event_id, evidence_id, event_kind, decision, rules_version, reason, known_from)
values (md5('team')::uuid, 2, md5('scan')::uuid, md5('evidence 3')::uuid, 'deterministic_scan', 'guarded', 1, 'a signal', '2026-01-02Z');
insert into commonlore.evidence_security_signal
values (md5('team')::uuid, 2, md5('scan')::uuid, 0, 'instruction_override', 'low', 0, 5, 'Orion');
