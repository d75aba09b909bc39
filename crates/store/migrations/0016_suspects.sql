-- Since when a relationship is suspect: its target's text has changed since somebody looked. Triggers keep it, whoever writes.
alter table relationship add column suspect_at bigint;

-- sqlite
create trigger relationship_target_changed after update of content_version on entity
when old.content_version <> new.content_version begin
    update relationship
    set suspect_at = case when new.content_version > target_version then coalesce(suspect_at, new.updated_at) end
    where target_id = new.id;
end;
create trigger relationship_added after insert on relationship begin
    update relationship
    set suspect_at = (select updated_at from entity where id = new.target_id and content_version > new.target_version)
    where id = new.id;
end;
create trigger relationship_confirmed after update of target_version on relationship begin
    update relationship
    set suspect_at = (select updated_at from entity where id = new.target_id and content_version > new.target_version)
    where id = new.id;
end;
-- postgres
create function suspect_relationships() returns trigger language plpgsql as $$
begin
    update relationship
    set suspect_at = case when new.content_version > target_version then coalesce(suspect_at, new.updated_at) end
    where target_id = new.id;
    return null;
end $$;
create trigger relationship_target_changed after update on entity for each row
    when (old.content_version <> new.content_version) execute function suspect_relationships();
create function suspect_relationship() returns trigger language plpgsql as $$
begin
    select updated_at into new.suspect_at from entity
    where id = new.target_id and content_version > new.target_version;
    return new;
end $$;
create trigger relationship_added before insert on relationship for each row execute function suspect_relationship();
create trigger relationship_confirmed before update of target_version on relationship for each row
    execute function suspect_relationship();
-- both

-- concurrently
create index relationship_suspect on relationship (project_id, suspect_at, id)
    where suspect_at is not null and deleted_at is null;
