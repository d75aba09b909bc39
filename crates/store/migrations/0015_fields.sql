-- Why something is wanted, and words to find it by: an array of JSON, or nothing.
alter table entity add column rationale text;
alter table entity add column labels text;

-- Labels by word, in lower case, for filters. Triggers keep them, whoever writes.
create table entity_label (
    label text not null,
    entity_id text not null,
    primary key (label, entity_id)
-- sqlite
) without rowid;
-- postgres
);
-- both
create index entity_label_entity on entity_label (entity_id);

-- sqlite
create trigger entity_labelled after insert on entity when new.labels is not null begin
    insert or ignore into entity_label (label, entity_id)
    select lower(value), new.id from json_each(new.labels);
end;
create trigger entity_labelled_anew after update of labels on entity when old.labels is not new.labels begin
    delete from entity_label where entity_id = old.id;
    insert or ignore into entity_label (label, entity_id)
    select lower(value), new.id from json_each(coalesce(new.labels, '[]'));
end;
-- postgres
create function label_entity() returns trigger language plpgsql as $$
begin
    delete from entity_label where entity_id = new.id;
    insert into entity_label (label, entity_id)
    select distinct lower(word collate "C"), new.id from jsonb_array_elements_text(cast(coalesce(new.labels, '[]') as jsonb)) word;
    return null;
end $$;
create trigger entity_labelled after insert on entity for each row when (new.labels is not null)
    execute function label_entity();
create trigger entity_labelled_anew after update on entity for each row when (old.labels is distinct from new.labels)
    execute function label_entity();
-- both
