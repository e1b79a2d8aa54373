import type { Channel, Tables } from './engine.ts'

/** Makes a trigger that notifies on PostgreSQL. `payload` is an expression on `new`, such as a column. */
export function notificationTrigger(input: {
  readonly channel: Channel
  readonly after: string
  readonly each: 'row' | 'statement'
  readonly payload: string
}): Tables {
  const { channel, after, each, payload } = input
  return {
    sqlite: '',
    postgres: `
      create or replace function ${channel}_changed() returns trigger language plpgsql as $$
        begin
          perform pg_notify('${channel}', ${payload});
          return null;
        end $$;
      create trigger ${channel} after ${after}
        for each ${each} execute function ${channel}_changed()`,
  }
}
