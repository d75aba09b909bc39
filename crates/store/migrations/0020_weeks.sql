-- How many live entities there were week by week, and with which status, as changes of the numbers of `tally`: the dimension `week` has
-- for each week since 1970 (from Monday) how many appeared less those that went (`2967 *`), and the same for each status (`2967 Done`).
-- What is inserted appears when it was made, and gets its status when it last changed: so it is right for an import and a restore, too.

-- sqlite
create trigger entity_added_in_week after insert on entity when new.deleted_at is null and new.status is not null begin
    insert into tally (kind, project_id, dimension, value, n)
    values (new.kind, new.project_id, 'week', ((new.created_at + 259200000000) / 604800000000) || ' *', 1)
    on conflict (kind, project_id, dimension, value) do update set n = n + 1;
    insert into tally (kind, project_id, dimension, value, n)
    values (new.kind, new.project_id, 'week', ((new.updated_at + 259200000000) / 604800000000) || ' ' || new.status, 1)
    on conflict (kind, project_id, dimension, value) do update set n = n + 1;
end;

create trigger entity_changed_in_week after update of status, deleted_at on entity
when new.status is not null and old.status is not null
    and (old.status <> new.status or (old.deleted_at is null) <> (new.deleted_at is null)) begin
    insert into tally (kind, project_id, dimension, value, n)
    select new.kind, new.project_id, 'week', ((new.updated_at + 259200000000) / 604800000000) || ' ' || moved.value, moved.n
    from (select old.status as value, -1 as n where old.deleted_at is null
          union all select new.status, 1 where new.deleted_at is null
          union all select '*', (new.deleted_at is null) - (old.deleted_at is null)
          where (old.deleted_at is null) <> (new.deleted_at is null)) moved where true
    on conflict (kind, project_id, dimension, value) do update set n = n + excluded.n;
end;

-- postgres
create function count_entities_by_week() returns trigger language plpgsql as $$
begin
    insert into tally_delta (kind, project_id, dimension, value, n)
    select e.kind, e.project_id, 'week', counted.value, sum(1)
    from added e cross join lateral (values
        (((e.created_at + 259200000000) / 604800000000) || ' *'),
        (((e.updated_at + 259200000000) / 604800000000) || ' ' || e.status)) counted (value)
    where e.deleted_at is null and e.status is not null
    group by e.kind, e.project_id, counted.value;
    return null;
end $$;
create trigger entity_added_in_week after insert on entity referencing new table as added
    for each statement execute function count_entities_by_week();

create function count_changed_entities_by_week() returns trigger language plpgsql as $$
begin
    insert into tally_delta (kind, project_id, dimension, value, n)
    select e.kind, e.project_id, 'week', ((e.week + 259200000000) / 604800000000) || ' ' || counted.value, sum(e.sign)
    from (select -1 as sign, before.kind, before.project_id, before.status, after.updated_at as week
          from before join after on after.id = before.id where before.deleted_at is null
            and (before.status <> after.status or after.deleted_at is not null)
          union all
          select 1, after.kind, after.project_id, after.status, after.updated_at
          from before join after on after.id = before.id where after.deleted_at is null
            and (before.status <> after.status or before.deleted_at is not null)) e
    cross join lateral (values (e.status), ('*')) counted (value)
    where e.status is not null
    group by e.kind, e.project_id, e.week, counted.value having sum(e.sign) <> 0;
    return null;
end $$;
create trigger entity_changed_in_week after update on entity referencing old table as before new table as after
    for each statement execute function count_changed_entities_by_week();
-- both
