import { parseLimits } from '#access/keys/limits.ts'
import type { Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { inNames, sql } from '#store/sql.ts'

/** Ends all of keys whose newest rotation is revoked or has expired, in whatever state they are. */
export async function endWebhooks(accounts: Engine, nowUnix: number): Promise<void> {
  const found = await accounts.read(sql`
    with recursive line (origin, newest) as (
      select public_id, public_id from webhooks where state <> 'ended' or due_ms is not null
      union
      select line.origin, keys.successor from line join keys on keys.public_id = line.newest
      where keys.successor is not null
    )
    select origin, revoked_unix, limits from line join keys on keys.public_id = line.newest
    where successor is null and (revoked_unix is not null or limits like '%"expiresUnix"%')`)
  const ended = { key_revoked: [] as string[], key_expired: [] as string[] }
  for (const row of found) {
    const { expiresUnix } = parseLimits(column.textOrNull(row, 'limits')) ?? {}
    const origin = column.text(row, 'origin')
    if (column.integerOrNull(row, 'revoked_unix') !== null) ended.key_revoked.push(origin)
    else if (expiresUnix !== undefined && expiresUnix <= nowUnix) ended.key_expired.push(origin)
  }
  for (const [reason, publicIds] of Object.entries(ended))
    if (publicIds.length > 0)
      await accounts.write((connection) =>
        connection.run(sql`
          update webhooks set state = 'ended', reason = ${reason}, answer = ${reason},
            answer_unix = ${nowUnix}, due_ms = null
          where public_id ${inNames(publicIds)} and (state <> 'ended' or due_ms is not null)`),
      )
}
