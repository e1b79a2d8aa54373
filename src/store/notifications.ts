import type { Channel, Migration } from './engine.ts'

/** Creates a trigger that notifies on PostgreSQL. `payload` is an expression on `new`, such as a column. */
export function notificationMigration(input: {
  readonly id: number
  readonly name: string
  readonly channel: Channel
  readonly after: string
  readonly each: 'row' | 'statement'
  readonly payload: string
}): Migration {
  const { id, name, channel, after, each, payload } = input
  return {
    id,
    name,
    sql: {
      sqlite: 'select 1',
      postgres: `
        create or replace function ${channel}_changed() returns trigger language plpgsql as $$
          begin
            perform pg_notify('${channel}', ${payload});
            return null;
          end $$;
        create trigger ${channel} after ${after}
          for each ${each} execute function ${channel}_changed()`,
    },
  }
}
