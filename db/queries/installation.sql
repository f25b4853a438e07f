-- About the installation as a whole; no tenant rows.

-- name: read_revision
select v.version_num from commonlore.alembic_version v;

-- name: read_role
-- Whether the current role could pass row security: superuser, BYPASSRLS, or a member of the owner.
select r.rolsuper or r.rolbypassrls or pg_has_role(r.oid, 'commonlore_owner', 'member') as unsafe
from pg_roles r where r.rolname = current_user;

-- name: read_contract
-- The embedding contract whose vectors are stored and searched.
select c.contract_id, c.contract_key, c.dimensions from commonlore.embedding_contract c where c.lifecycle_state = 'served';
