export interface Guard {
  readonly table: string
  readonly name: string
  readonly on: 'insert' | 'update' | 'delete'
  /** Only updates of these columns. */
  readonly columns?: readonly string[]
  /** A condition on `old` and `new`; without it every row is refused. */
  readonly when?: string
  /** Skips the row without an error. */
  readonly quietly?: boolean
}

export function appendOnly(table: string, name: string = table): readonly Guard[] {
  return [
    { table, name: `${name}_never_change`, on: 'update' },
    { table, name: `${name}_stay`, on: 'delete' },
  ]
}

export function guardsSql(guards: readonly Guard[]): {
  readonly sqlite: string
  readonly postgres: string
} {
  return {
    sqlite: guards.map((guard) => `${sqliteText(guard)};`).join('\n'),
    postgres: [POSTGRES_FUNCTIONS, ...guards.map(postgresText)].join('\n'),
  }
}

/** SQLite stores the first two words in capitals. */
export function sqliteText(guard: Guard): string {
  const { table, name, on, columns, when, quietly } = guard
  const set = columns === undefined ? '' : ` of ${columns.join(', ')}`
  const only = when === undefined ? '' : ` when ${when}`
  const act = quietly === true ? 'ignore' : `abort, '${table}: ${name}'`
  return `CREATE TRIGGER ${name} before ${on}${set} on ${table}${only} begin select raise(${act}); end`
}

/** SQLSTATE class 23 makes it a ConstraintError, as on SQLite. */
const REFUSE_ROW = `
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end `

const SKIP_ROW = `
    begin
      return null;
    end `

const POSTGRES_FUNCTIONS = `
  create or replace function refuse_row() returns trigger language plpgsql as $$${REFUSE_ROW}$$;
  create or replace function skip_row() returns trigger language plpgsql as $$${SKIP_ROW}$$;`

export interface PostgresTrigger {
  readonly name: string
  readonly table: string
  readonly moment: 'before' | 'after'
  /** Such as `update of a, b`. */
  readonly on: string
  readonly each: 'row' | 'statement'
  readonly when: string | null
  readonly calls: string
  readonly body: string
}

/** Undeletable rows cannot be truncated either. */
export function postgresTriggers(guard: Guard): readonly PostgresTrigger[] {
  const { table, name, on } = guard
  if (on !== 'delete') return [rowTrigger(guard)]
  const act = { each: 'statement', when: null, calls: 'refuse_row', body: REFUSE_ROW } as const
  const truncate = { name: `${name}_truncate`, table, moment: 'before', on: 'truncate' } as const
  return [rowTrigger(guard), { ...truncate, ...act }]
}

/** The condition is in the function, since PostgreSQL's trigger conditions cannot query other rows. */
function rowTrigger(guard: Guard): PostgresTrigger {
  const { table, name, on, columns, when, quietly } = guard
  const set = columns === undefined ? '' : ` of ${columns.join(', ')}`
  const known = { name, table, moment: 'before', on: `${on}${set}`, each: 'row' } as const
  if (when !== undefined && /\bselect\b/.test(when)) {
    const refusal =
      quietly === true
        ? 'return null;'
        : `raise exception '${table}: ${name}' using errcode = 'restrict_violation';`
    const body = `
      begin
        if ${when} then ${refusal} end if;
        return ${on === 'delete' ? 'old' : 'new'};
      end `
    return { ...known, when: null, calls: `${name}_row`, body }
  }
  const act = quietly === true ? ['skip_row', SKIP_ROW] : ['refuse_row', REFUSE_ROW]
  const [calls = '', body = ''] = act
  return { ...known, when: when ?? null, calls, body }
}

function postgresText(guard: Guard): string {
  return postgresTriggers(guard)
    .map(({ name, table, moment, on, each, when, calls, body }) => {
      const make =
        calls === `${name}_row`
          ? `create function ${calls}() returns trigger language plpgsql as $$${body}$$;`
          : ''
      const only = when === null ? '' : ` when (${when})`
      return `${make}
        create trigger ${name} ${moment} ${on} on ${table} for each ${each}${only}
        execute function ${calls}();`
    })
    .join('\n')
}
