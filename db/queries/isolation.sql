-- What the catalogue says about isolation. Readable by every role; nothing here reads a tenant's row.

-- name: relations
-- Every relation of the product's schema that can hold or show rows, by name.
select c.relname as name, c.relkind::text as kind, c.relrowsecurity as enabled, c.relforcerowsecurity as forced, r.rolname as owner,
       (select coalesce(array_agg(a.attname::text order by a.attnum), '{}') from pg_attribute a
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns
from pg_class c
join pg_roles r on r.oid = c.relowner
where c.relnamespace = 'commonlore'::regnamespace and c.relkind in ('r', 'p', 'f', 'v', 'm')
order by c.relname;

-- name: policies
-- Every policy on a relation of the product's schema. Role names sorted; PUBLIC is `public`.
select c.relname as relation, p.polname as name, p.polcmd::text as command, p.polpermissive as permissive,
       (select array_agg(n.name order by n.name)
        from (select case when o.role = 0 then 'public' else pg_get_userbyid(o.role)::text end
              from unnest(p.polroles) as o (role)) as n (name)) as roles,
       pg_get_expr(p.polqual, p.polrelid) as condition, pg_get_expr(p.polwithcheck, p.polrelid) as check_condition
from pg_policy p
join pg_class c on c.oid = p.polrelid
where c.relnamespace = 'commonlore'::regnamespace
order by c.relname, p.polname;

-- name: keys
-- Primary, unique and exclusion keys with their key columns in order; an expression is null. Included columns are left out.
select c.relname as relation, i.relname as name, x.indisprimary as is_primary,
       (select array_agg(a.attname::text order by k.position)
        from unnest(x.indkey::int2[]) with ordinality as k (attnum, position)
        left join pg_attribute a on a.attrelid = x.indrelid and a.attnum = k.attnum and k.attnum > 0
        where k.position <= x.indnkeyatts) as columns
from pg_index x
join pg_class i on i.oid = x.indexrelid
join pg_class c on c.oid = x.indrelid
where c.relnamespace = 'commonlore'::regnamespace and (x.indisunique or x.indisprimary or x.indisexclusion)
order by c.relname, i.relname;

-- name: foreign_keys
-- Foreign keys from or to a relation of the product's schema; column arrays are parallel.
select c.relname as relation, k.conname as name, f.relname as target,
       (select array_agg(a.attname::text order by o.position) from unnest(k.conkey) with ordinality as o (attnum, position)
        join pg_attribute a on a.attrelid = k.conrelid and a.attnum = o.attnum) as columns,
       (select array_agg(a.attname::text order by o.position) from unnest(k.confkey) with ordinality as o (attnum, position)
        join pg_attribute a on a.attrelid = k.confrelid and a.attnum = o.attnum) as target_columns
from pg_constraint k
join pg_class c on c.oid = k.conrelid
join pg_class f on f.oid = k.confrelid
where k.contype = 'f' and (c.relnamespace = 'commonlore'::regnamespace or f.relnamespace = 'commonlore'::regnamespace)
order by c.relname, k.conname;

-- name: roles
-- The product's roles with what would let them pass a policy, and every role that each is a member of.
select r.rolname as name, r.rolsuper as superuser, r.rolbypassrls as bypass, r.rolcreaterole as createrole, r.rolreplication as replication,
       (select coalesce(array_agg(g.rolname::text order by g.rolname), '{}') from pg_roles g
        where g.oid <> r.oid and pg_has_role(r.oid, g.oid, 'member')) as member_of
from pg_roles r
where r.rolname in ('commonlore_owner', 'commonlore_migrator', 'commonlore_app', 'commonlore_worker')
order by r.rolname;

-- name: who_am_i
select session_user::text as session_name, current_user::text as current_name;

-- name: views
-- Views and materialized views of the product's schemas, and those elsewhere that read one of its relations.
select distinct n.nspname || '.' || v.relname as name, v.relkind::text as kind,
       coalesce((select o.option_value::boolean from pg_options_to_table(v.reloptions) o where o.option_name = 'security_invoker'), false) as invoker
from pg_class v
join pg_namespace n on n.oid = v.relnamespace
where v.relkind in ('v', 'm')
  and (n.nspname in ('commonlore', 'procrastinate')
       or exists (select from pg_rewrite w
                  join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = w.oid and d.refclassid = 'pg_class'::regclass
                  join pg_class t on t.oid = d.refobjid
                  where w.ev_class = v.oid and t.relnamespace = 'commonlore'::regnamespace))
order by 1;

-- name: functions
-- Functions of the product's schemas, and definer functions elsewhere that a serving or worker role may call; extensions' own left out.
select n.nspname || '.' || p.proname || '(' || oidvectortypes(p.proargtypes) || ')' as name, n.nspname || '.' || p.proname as plain_name, p.prosecdef as definer, p.proleakproof as leakproof,
       coalesce((select bool_or(o like 'search_path=%%') from unnest(p.proconfig) o), false) as pinned,
       coalesce((select bool_or(a.grantee = 0) from aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                 where a.privilege_type = 'EXECUTE'), false) as public_execute
from pg_proc p
join pg_namespace n on n.oid = p.pronamespace
where n.nspname not in ('pg_catalog', 'information_schema')
  and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e')
  and (n.nspname in ('commonlore', 'procrastinate')
       or p.prosecdef and (has_function_privilege('commonlore_app', p.oid, 'execute') or has_function_privilege('commonlore_worker', p.oid, 'execute')))
order by 1;

-- name: public_grants
-- What PUBLIC may do with the product's relations, columns and schemas.
select c.relnamespace::regnamespace || '.' || c.relname as name, a.privilege_type as privilege
from pg_class c, aclexplode(c.relacl) a
where c.relnamespace in ('commonlore'::regnamespace, 'procrastinate'::regnamespace) and a.grantee = 0
union all
select c.relnamespace::regnamespace || '.' || c.relname || '.' || t.attname, a.privilege_type
from pg_class c join pg_attribute t on t.attrelid = c.oid, aclexplode(t.attacl) a
where c.relnamespace in ('commonlore'::regnamespace, 'procrastinate'::regnamespace) and a.grantee = 0
union all
select n.nspname, a.privilege_type
from pg_namespace n, aclexplode(n.nspacl) a
where n.nspname in ('commonlore', 'procrastinate') and a.grantee = 0
order by 1, 2;

-- name: excess_grants
-- Privileges that row security does not bind, on relations of the product's schema, held by the serving or the worker role in any way.
select r.rolname as role, c.relnamespace::regnamespace || '.' || c.relname as name, p.privilege
from pg_class c, (values ('commonlore_app'), ('commonlore_worker')) as r (rolname), (values ('TRUNCATE'), ('REFERENCES'), ('TRIGGER')) as p (privilege)
where c.relnamespace = 'commonlore'::regnamespace and c.relkind in ('r', 'p', 'f', 'v', 'm') and has_table_privilege(r.rolname, c.oid, p.privilege)
union all
select r.rolname, n.nspname, 'CREATE'
from pg_namespace n, (values ('commonlore_app'), ('commonlore_worker')) as r (rolname)
where n.nspname in ('commonlore', 'procrastinate') and has_schema_privilege(r.rolname, n.oid, 'create')
union all
select 'commonlore_app', n.nspname, 'USAGE'
from pg_namespace n
where n.nspname = 'procrastinate' and has_schema_privilege('commonlore_app', n.oid, 'usage')
order by 1, 2, 3;

-- name: columns
-- Columns of the tables of the product's schema with type, nullability and whether the database computes them.
select c.relname as relation, a.attname as name, format_type(a.atttypid, a.atttypmod) as type, a.attnotnull as required
from pg_class c
join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
where c.relnamespace = 'commonlore'::regnamespace and c.relkind in ('r', 'p') and a.attgenerated = '' and a.attidentity = ''
order by c.relname, a.attnum;

-- name: check_constraints
select c.relname as relation, k.conname as name, pg_get_constraintdef(k.oid) as definition
from pg_constraint k
join pg_class c on c.oid = k.conrelid
where k.contype = 'c' and c.relnamespace = 'commonlore'::regnamespace
order by c.relname, k.conname;
