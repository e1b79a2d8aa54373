export interface Guard {
  readonly table: string
  readonly name: string
  readonly on: 'insert' | 'update' | 'delete'
  /** Restricts the guard to updates of these columns, listed as in SQL. */
  readonly columns?: string
  /** A condition on `old` and `new`; without it every row is refused. */
  readonly when?: string
  /** Skips the row silently instead of failing. */
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
    sqlite: guards.map(sqliteText).join('\n'),
    postgres: [POSTGRES_FUNCTIONS, ...guards.map(postgresText)].join('\n'),
  }
}

function sqliteText(guard: Guard): string {
  const { table, name, when, quietly } = guard
  const only = when === undefined ? '' : ` when ${when}`
  const act = quietly === true ? 'ignore' : `abort, '${table}: ${name}'`
  return `create trigger ${name} ${describeMoment(guard)}${only} begin select raise(${act}); end;`
}

function describeMoment({ table, on, columns }: Guard): string {
  const set = columns === undefined ? '' : ` of ${columns.replace(/\s+/g, ' ')}`
  return `before ${on}${set} on ${table}`
}

/** SQLSTATE class 23 makes the refusal a ConstraintError, as on SQLite. */
const POSTGRES_FUNCTIONS = `
  create or replace function refuse_row() returns trigger language plpgsql as $$
    begin
      raise exception '%: %', tg_table_name, tg_name using errcode = 'restrict_violation';
    end $$;
  create or replace function skip_row() returns trigger language plpgsql as $$
    begin
      return null;
    end $$;`

/** Also refuses TRUNCATE, if rows must not be deleted. */
function postgresText(guard: Guard): string {
  const { table, name, on } = guard
  if (on !== 'delete') return rowTrigger(guard)
  return `${rowTrigger(guard)}
    create trigger ${name}_truncate before truncate on ${table} for each statement
    execute function refuse_row();`
}

/** PostgreSQL's trigger conditions cannot query other rows, so the condition goes into a function. */
function rowTrigger(guard: Guard): string {
  const { table, name, on, when, quietly } = guard
  const trigger = `create trigger ${name} ${describeMoment(guard)} for each row`
  if (when === undefined || !/\bselect\b/.test(when)) {
    const only = when === undefined ? '' : ` when (${when})`
    return `${trigger}${only} execute function ${quietly === true ? 'skip_row' : 'refuse_row'}();`
  }
  const refusal =
    quietly === true
      ? 'return null;'
      : `raise exception '${table}: ${name}' using errcode = 'restrict_violation';`
  return `
    create function ${name}_row() returns trigger language plpgsql as $$
      begin
        if ${when} then ${refusal} end if;
        return ${on === 'delete' ? 'old' : 'new'};
      end $$;
    ${trigger} execute function ${name}_row();`
}
