-- How many live entities and comments there are, and how many lines the audit trail has, so that nothing is counted to say so.
-- A number is kept for every value of some fields: `dimension` is the field, and `value` is empty where it has none.
create table tally (
    kind text not null,
    project_id text not null,
    dimension text not null,
    value text not null,
    n bigint not null,
    primary key (kind, project_id, dimension, value)
-- sqlite
) without rowid;
create view tallied as select kind, project_id, dimension, value, n from tally;
-- postgres
);
-- Writers would wait for each other's rows, so that each adds rows of its own. From time to time they are summed up.
create table tally_delta (
    kind text not null,
    project_id text not null,
    dimension text not null,
    value text not null,
    n bigint not null
);
create index tally_delta_key on tally_delta (kind, project_id, dimension, value);
create view tallied as
select kind, project_id, dimension, value, n from tally
union all select kind, project_id, dimension, value, n from tally_delta;
-- both

-- sqlite
create trigger entity_added after insert on entity when new.deleted_at is null begin
    insert into tally (kind, project_id, dimension, value, n)
    select new.kind, new.project_id, counted.dimension, counted.value, 1 from (
        select 'status' as dimension, coalesce(new.status, '') as value
        union all select 'priority', coalesce(new.priority, '')
        union all select 'type', coalesce(new.type_id, '')
        union all select 'assignee', coalesce(new.assignee_id, '')
        union all select 'criterion', new.criterion_id is not null
    ) counted where true
    on conflict (kind, project_id, dimension, value) do update set n = n + 1;
end;

create trigger entity_changed
after update of status, priority, type_id, assignee_id, criterion_id, deleted_at on entity begin
    insert into tally (kind, project_id, dimension, value, n)
    select old.kind, old.project_id, counted.dimension, counted.before, -1 from (
        select 'status' as dimension, coalesce(old.status, '') as before, coalesce(new.status, '') as after
        union all select 'priority', coalesce(old.priority, ''), coalesce(new.priority, '')
        union all select 'type', coalesce(old.type_id, ''), coalesce(new.type_id, '')
        union all select 'assignee', coalesce(old.assignee_id, ''), coalesce(new.assignee_id, '')
        union all select 'criterion', old.criterion_id is not null, new.criterion_id is not null
    ) counted where old.deleted_at is null and (new.deleted_at is not null or counted.before <> counted.after)
    on conflict (kind, project_id, dimension, value) do update set n = n - 1;
    insert into tally (kind, project_id, dimension, value, n)
    select new.kind, new.project_id, counted.dimension, counted.after, 1 from (
        select 'status' as dimension, coalesce(old.status, '') as before, coalesce(new.status, '') as after
        union all select 'priority', coalesce(old.priority, ''), coalesce(new.priority, '')
        union all select 'type', coalesce(old.type_id, ''), coalesce(new.type_id, '')
        union all select 'assignee', coalesce(old.assignee_id, ''), coalesce(new.assignee_id, '')
        union all select 'criterion', old.criterion_id is not null, new.criterion_id is not null
    ) counted where new.deleted_at is null and (old.deleted_at is not null or counted.before <> counted.after)
    on conflict (kind, project_id, dimension, value) do update set n = n + 1;
end;

create trigger comment_added after insert on comment when new.deleted_at is null begin
    insert into tally (kind, project_id, dimension, value, n)
    values ('comment', new.project_id, 'resolved', new.resolved, 1)
    on conflict (kind, project_id, dimension, value) do update set n = n + 1;
end;

create trigger comment_changed after update of resolved, deleted_at on comment
when old.resolved <> new.resolved or (old.deleted_at is null) <> (new.deleted_at is null) begin
    insert into tally (kind, project_id, dimension, value, n)
    values ('comment', old.project_id, 'resolved', old.resolved, -(old.deleted_at is null))
    on conflict (kind, project_id, dimension, value) do update set n = n + excluded.n;
    insert into tally (kind, project_id, dimension, value, n)
    values ('comment', new.project_id, 'resolved', new.resolved, new.deleted_at is null)
    on conflict (kind, project_id, dimension, value) do update set n = n + excluded.n;
end;

create trigger revision_added after insert on revision begin
    insert into tally (kind, project_id, dimension, value, n) values ('revision', '', 'all', '', 1)
    on conflict (kind, project_id, dimension, value) do update set n = n + 1;
end;
create trigger authentication_event_added after insert on authentication_event begin
    insert into tally (kind, project_id, dimension, value, n) values ('authentication_event', '', 'all', '', 1)
    on conflict (kind, project_id, dimension, value) do update set n = n + 1;
end;
create trigger authentication_event_removed after delete on authentication_event begin
    update tally set n = n - 1 where kind = 'authentication_event';
end;

-- postgres
-- A statement counts all its rows at once.
create function count_entities() returns trigger language plpgsql as $$
begin
    insert into tally_delta (kind, project_id, dimension, value, n)
    select e.kind, e.project_id, counted.dimension, counted.value, sum(1)
    from added e cross join lateral (values
        ('status', coalesce(e.status, '')),
        ('priority', coalesce(cast(e.priority as varchar), '')),
        ('type', coalesce(e.type_id, '')),
        ('assignee', coalesce(e.assignee_id, '')),
        ('criterion', case when e.criterion_id is null then '0' else '1' end)) counted (dimension, value)
    where e.deleted_at is null
    group by e.kind, e.project_id, counted.dimension, counted.value;
    return null;
end $$;
create trigger entity_added after insert on entity referencing new table as added
    for each statement execute function count_entities();

create function count_changed_entities() returns trigger language plpgsql as $$
begin
    insert into tally_delta (kind, project_id, dimension, value, n)
    select e.kind, e.project_id, counted.dimension, counted.value, sum(e.sign)
    from (select -1 as sign, before.* from before where deleted_at is null
          union all select 1, after.* from after where deleted_at is null) e
    cross join lateral (values
        ('status', coalesce(e.status, '')),
        ('priority', coalesce(cast(e.priority as varchar), '')),
        ('type', coalesce(e.type_id, '')),
        ('assignee', coalesce(e.assignee_id, '')),
        ('criterion', case when e.criterion_id is null then '0' else '1' end)) counted (dimension, value)
    group by e.kind, e.project_id, counted.dimension, counted.value
    having sum(e.sign) <> 0;
    return null;
end $$;
create trigger entity_changed after update on entity referencing old table as before new table as after
    for each statement execute function count_changed_entities();

create function count_comments() returns trigger language plpgsql as $$
begin
    insert into tally_delta (kind, project_id, dimension, value, n)
    select 'comment', c.project_id, 'resolved', c.resolved, sum(1)
    from added c where c.deleted_at is null
    group by c.project_id, c.resolved;
    return null;
end $$;
create trigger comment_added after insert on comment referencing new table as added
    for each statement execute function count_comments();

create function count_changed_comments() returns trigger language plpgsql as $$
begin
    insert into tally_delta (kind, project_id, dimension, value, n)
    select 'comment', c.project_id, 'resolved', c.resolved, sum(c.sign)
    from (select -1 as sign, before.* from before where deleted_at is null
          union all select 1, after.* from after where deleted_at is null) c
    group by c.project_id, c.resolved having sum(c.sign) <> 0;
    return null;
end $$;
create trigger comment_changed after update on comment referencing old table as before new table as after
    for each statement execute function count_changed_comments();

create function count_added() returns trigger language plpgsql as $$
begin
    insert into tally_delta (kind, project_id, dimension, value, n)
    select tg_table_name, '', 'all', '', count(*) from added;
    return null;
end $$;
create trigger revision_added after insert on revision referencing new table as added
    for each statement execute function count_added();
create trigger authentication_event_added after insert on authentication_event referencing new table as added
    for each statement execute function count_added();

create function count_removed() returns trigger language plpgsql as $$
begin
    insert into tally_delta (kind, project_id, dimension, value, n)
    select tg_table_name, '', 'all', '', -count(*) from removed;
    return null;
end $$;
create trigger authentication_event_removed after delete on authentication_event referencing old table as removed
    for each statement execute function count_removed();
-- both

-- The orders of lists, and what they are filtered by. The constraint on reference numbers has the order of numbers.
-- concurrently
create index entity_status on entity (project_id, kind, status, number) where deleted_at is null;
create index entity_assignee on entity (project_id, kind, assignee_id, number) where deleted_at is null;
create index entity_created on entity (project_id, kind, created_at, number) where deleted_at is null;
create index entity_updated on entity (project_id, kind, updated_at, number) where deleted_at is null;
-- Children are counted without looking at them.
create index entity_children on entity (parent_id, kind, number, deleted_at);
-- Work that was begun: the longest untouched of each status.
create index entity_under_way on entity (project_id, kind, status, updated_at, number)
    where deleted_at is null and kind in ('epic', 'user_story');
create index comment_created on comment (created_at, id) where deleted_at is null;
create index comment_project on comment (project_id, created_at, id) where deleted_at is null;
create index revision_created on revision (created_at, id);
create index revision_actor on revision (actor_id, created_at);
create index authentication_event_created on authentication_event (created_at, id);
create index authentication_event_user on authentication_event (user_id, created_at);
-- transaction
drop index entity_live;
drop index entity_child;
