-- The first schema. Texts that repeat (agents, places, people, shelves) are kept once and named by
-- number; numbers are never used twice, so that a number seen elsewhere cannot change its meaning.

create table meta (
    only_row integer primary key check (only_row = 1),
    revision integer not null,      -- number of the newest transaction that changed something
    purges integer not null,        -- how often numbered texts were removed: caches of them end then
    gone_floor integer not null,    -- up to this revision `gone` has been shortened
    model integer references model (number)
);

insert into meta (only_row, revision, purges, gone_floor, model) values (1, 0, 0, 0, null);

create table agent (
    number integer primary key autoincrement,
    id text not null unique
);

create table spot (
    number integer primary key autoincrement,
    key text not null unique        -- Place.key
);

create table place (
    number integer primary key autoincrement,
    spot integer not null references spot (number),
    value text not null unique      -- the whole place as a JSON list
);

create table author (
    number integer primary key autoincrement,
    id text not null unique
);

create table entity (
    number integer primary key autoincrement,
    author integer not null references author (number),
    name text not null,
    unique (author, name)
);

create table shelf (
    number integer primary key autoincrement,
    name text not null unique       -- as the visibility rule writes it
);

create table event (
    seq integer primary key autoincrement,
    revision integer not null,      -- transaction that last changed this row
    id text not null unique,
    agent integer not null references agent (number),
    external_id text,
    spot integer not null references spot (number),
    place integer not null references place (number),
    author integer not null references author (number),
    entity integer not null references entity (number),
    at integer not null,            -- microseconds since 1970, UTC
    version integer not null,       -- time of the newest edit, as `at`
    edits integer not null,         -- how often the text was replaced
    event_type integer not null,
    source_type integer not null,
    importance integer not null,
    requires_response integer not null,
    words integer not null,         -- number of words of the content
    flags integer not null,         -- 1: a question, 2: holds a time expression
    shelves text not null,          -- numbers, parted by spaces; "+": without its words
    addressing text,
    reply_to text,
    content text not null,
    narrative_text text,
    metadata text                   -- JSON; null for an empty object
);

create unique index event_external on event (agent, external_id) where external_id is not null;
create index event_revision on event (revision);
create index event_agent on event (agent, at);
create index event_spot on event (spot, agent, at);
create index event_author on event (author, agent, at);

create table event_shelf (
    shelf integer not null references shelf (number),
    seq integer not null references event (seq),
    primary key (shelf, seq)
) without rowid;

create table model (
    number integer primary key autoincrement,
    name text not null unique,
    dim integer not null,
    centre blob                     -- mean question vector, float32
);

create table vector (
    seq integer primary key references event (seq),
    revision integer not null,
    model integer not null references model (number),
    code blob not null              -- float32: 1 / length of the codes; then one int8 per dimension
);

create index vector_revision on vector (revision);

create table unembedded (
    seq integer primary key references event (seq)
);

create table tombstone (
    key blob primary key            -- digest of agent and id: what was erased is not named here
) without rowid;

create table gone (
    seq integer primary key,
    revision integer not null,
    agent integer not null,
    spot integer not null
);

create index gone_revision on gone (revision);

create table trace (
    agent_id text not null,
    place_key text not null,
    body text not null,
    primary key (agent_id, place_key)
) without rowid;

create table followed (
    entity_id text primary key
) without rowid;

-- Every word once for each shelf of its event, the number of the shelf in front.
create virtual table words using fts5 (
    body,
    content = '',
    columnsize = 0,
    detail = none,
    tokenize = 'porter unicode61 remove_diacritics 2'
);

-- All runs of three signs, and the shelves as three signs that no message can hold.
create virtual table inside using fts5 (
    body, content = '', columnsize = 0, detail = none, tokenize = 'trigram'
);
