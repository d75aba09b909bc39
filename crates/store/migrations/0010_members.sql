-- A project is open to everybody, or to its members alone. Tokens can be narrowed to some projects.
alter table project add column access text not null default 'open' check (access in ('open', 'members'));
create index project_closed on project (id) where access = 'members';

create table project_member (
    project_id text not null references project (id),
    user_id text not null references user_account (id),
    role text not null check (role in ('Commenter', 'User', 'Administrator')),
    version bigint not null check (version >= 1),
    created_at bigint not null,
    updated_at bigint not null,
    primary key (project_id, user_id)
);
create index project_member_user on project_member (user_id);

alter table token add column narrowed bigint not null default 0 check (narrowed in (0, 1));
create table token_project (
    token_id text not null references token (id) on delete cascade,
    project_id text not null references project (id),
    primary key (token_id, project_id)
);
create index token_project_project on token_project (project_id);

-- The one rule about who sees a project and what they are in it. Where the role is null, the project is hidden.
create view project_role (project_id, user_id, role) as
select p.id, u.id, case when p.access = 'open' or u.role = 'Administrator' then u.role else m.role end
from project p cross join user_account u
left join project_member m on m.project_id = p.id and m.user_id = u.id;

-- The projects that a kept answer is about: who no longer sees them is not given it again.
alter table idempotency add column projects text not null default '';
