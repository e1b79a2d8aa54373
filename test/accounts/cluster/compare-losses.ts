import type { Engine } from '#store/engine.ts'
import { column } from '#store/row.ts'
import { sql } from '#store/sql.ts'
import type { Answered } from './answered.ts'

/** Differences between what was answered, what the accounts hold, and what the audit says is lost. */
export async function compareLosses(
  accounts: Engine,
  input: { readonly answered: Answered; readonly words: string; readonly code: number | null },
): Promise<readonly string[]> {
  const { answered, words, code } = input
  const named = namedIn(words)
  const wrong: string[] = []
  if (code !== 1) wrong.push(`the audit ended with ${code}`)
  wrong.push(...(await compareCalls(accounts, answered, named.calls)))
  const keys = await readKeys(accounts)
  const claims = await readClaims(accounts)
  const compare = (what: string, lost: Iterable<string>, said: ReadonlySet<string>) => {
    const all = new Set(lost)
    if (all.size === 0) wrong.push(`no ${what} was lost, so this run shows nothing`)
    for (const each of all) if (!said.has(each)) wrong.push(`${what} ${each} is lost and not named`)
    for (const each of said) if (!all.has(each)) wrong.push(`${what} ${each} is named and not lost`)
  }
  const lost = (names: ReadonlySet<string>, isLost: (name: string) => boolean) =>
    [...names].filter(isLost)
  compare(
    'key',
    lost(answered.keys, (each) => !keys.has(each)),
    named.keys,
  )
  compare(
    'revocation',
    lost(answered.revoked, (each) => keys.get(each) === true),
    named.revocations,
  )
  compare(
    'claim',
    lost(answered.claims, (each) => !claims.has(each)),
    named.claims,
  )
  return wrong
}

async function compareCalls(
  accounts: Engine,
  { calls }: Answered,
  named: ReadonlyMap<string, number>,
): Promise<readonly string[]> {
  const rows = await accounts.read(sql`
    select bucket, cast(sum(used + paid) as bigint) as counted from usage_days group by bucket`)
  const counted = new Map(
    rows.map((row) => [column.text(row, 'bucket'), column.integer(row, 'counted')]),
  )
  const wrong: string[] = []
  let lost = 0
  for (const [wallet, { answered, unknown }] of calls) {
    const bucket = `wallet:${wallet}`
    const said = named.get(bucket) ?? 0
    const held = counted.get(bucket) ?? 0
    lost += said
    if (held + said < answered || held + said > answered + unknown)
      wrong.push(
        `${wallet} was answered ${answered} to ${answered + unknown} times; ${held} are counted, ${said} named`,
      )
  }
  if (lost === 0) wrong.push('no call was lost, so this run shows nothing')
  return wrong
}

function namedIn(words: string) {
  const all = (pattern: RegExp) => [...words.matchAll(pattern)]
  const calls = new Map<string, number>()
  for (const [, count, bucket = ''] of all(/^LOST {3}calls: (\d+) of (\S+) on/gm))
    calls.set(bucket, (calls.get(bucket) ?? 0) + Number(count))
  return {
    calls,
    keys: new Set(all(/^LOST {3}key: (\S+) of/gm).map(([, id = '']) => id)),
    revocations: new Set(all(/^LOST {3}revocation: (\S+) of/gm).map(([, id = '']) => id)),
    claims: new Set(
      all(/^LOST {3}claim: transaction (\S+) for key (\w+);/gm).map(
        ([, txHash = '', id = '']) => `${id} ${txHash}`,
      ),
    ),
  }
}

async function readKeys(accounts: Engine): Promise<ReadonlyMap<string, boolean>> {
  const rows = await accounts.read(sql`select public_id, revoked_unix from keys`)
  return new Map(
    rows.map((row) => [
      column.text(row, 'public_id'),
      column.integerOrNull(row, 'revoked_unix') === null,
    ]),
  )
}

async function readClaims(accounts: Engine): Promise<ReadonlySet<string>> {
  const rows = await accounts.read(sql`select public_id, tx_hash from claims`)
  return new Set(
    rows.map((row) => `${column.text(row, 'public_id')} ${column.text(row, 'tx_hash')}`),
  )
}
