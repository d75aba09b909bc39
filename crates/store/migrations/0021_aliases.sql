-- What other tools call an entity. An import keeps it, and finds the entity again by it.
create table entity_alias (
    project_id text not null,
    scheme text not null,
    external_id text not null,
    entity_id text not null,
    entity_kind text not null,
    -- The import that brought it along, with which it can be taken back.
    import_id text,
    -- Whether that import has made the entity, too.
    with_entity bigint not null check (with_entity in (0, 1)),
    created_at bigint not null,
    primary key (project_id, scheme, external_id),
    foreign key (project_id, entity_id, entity_kind) references entity (project_id, id, kind)
);
create index entity_alias_entity on entity_alias (entity_id);
create index entity_alias_external on entity_alias (external_id);
create index entity_alias_import on entity_alias (import_id) where import_id is not null;
