import { Command, InvalidArgumentError } from 'commander'
import { findKey, markRevoked } from '#accounts/keys/key-store.ts'
import { noteRevokedKeys } from '#accounts/keys/revoked-keys.ts'
import { type Address, parseAddress, showAddress } from '#base/address.ts'
import { PUBLIC_ID } from '#base/caller.ts'
import { formatDecimal } from '#base/money.ts'
import { countNoun } from '#base/text.ts'
import { toIso, unixNow } from '#base/time.ts'
import { ConfigError } from '#config.ts'
import type { Connection, Engine } from '#db/engine.ts'
import { column, type Row, sql } from '#db/sql.ts'
import type { CommandContext } from '#main/command-context.ts'
import {
  onAccounts,
  type Report,
  runUpkeep,
  UpkeepError,
  type UpkeepOptions,
  upkeepCommand,
} from '#ops/cli/run-on-stores.ts'

const KEYS = `
Works while the service runs. A revoked key is refused by every replica within a second.

Exit code: 0 done, 1 refused (nothing was changed), 2 wrong usage or configuration.

Examples:
  sexton keys list --owner 0x1234...
  sexton keys revoke 0a1b2c3d 4e5f6a7b
`

export function keysCommand(process: NodeJS.Process): Command {
  const list = upkeepCommand('list')
    .description('all keys with owner, state and balance')
    .option('--owner <address>', 'only keys of this wallet', readOwner)
    .action((options: UpkeepOptions & { readonly owner?: Address }) =>
      runUpkeep(process, options, (context, report) => runList(context, report, options.owner)),
    )
  const revoke = upkeepCommand('revoke')
    .description('revoke keys; all, or none if one is unknown')
    .argument('<publicId...>', 'public ids of the keys')
    .action((publicIds: string[], options: UpkeepOptions) =>
      runUpkeep(process, options, (context, report) => runRevoke(context, report, publicIds)),
    )
  return new Command('keys')
    .description('list or revoke keys')
    .addHelpText('afterAll', KEYS)
    .addCommand(list)
    .addCommand(revoke)
}

function readOwner(text: string): Address {
  const owner = parseAddress(text)
  if (owner === undefined) throw new InvalidArgumentError('write 0x and 40 hex digits')
  return owner
}

type Context = Pick<CommandContext, 'config' | 'clock'>

function runList(context: Context, report: Report, owner?: Address): Promise<void> {
  return onAccounts(context.config, async (accounts) => {
    const keys = await listAllKeys(accounts, owner)
    for (const key of keys) report.say(inWords(key))
    report.say(countNoun(keys.length, 'key'))
    report.done({ keys })
  })
}

function runRevoke(context: Context, report: Report, publicIds: readonly string[]): Promise<void> {
  const wrong = publicIds.filter((each) => !PUBLIC_ID.test(each))
  if (wrong.length > 0) throw new ConfigError(`not a publicId (8 hex digits): ${wrong.join(', ')}`)
  return onAccounts(context.config, async (accounts) => {
    const outcome = await accounts.write((tx) => revokeKeys(tx, publicIds, unixNow(context.clock)))
    const { database, dataFolder } = context.config
    if (database.kind === 'sqlite') noteRevokedKeys(dataFolder, outcome.revoked)
    for (const publicId of outcome.revoked) report.say(`${publicId}: revoked`)
    for (const each of outcome.before) report.say(`${each}: was revoked before`)
    report.done({ ...outcome })
  })
}

interface ShownKey {
  readonly publicId: string
  readonly owner: string
  readonly label: string | null
  readonly createdAt: string
  readonly revokedAt: string | null
  readonly successor: string | null
  readonly balanceUsd: string
}

export async function listAllKeys(
  engine: Engine,
  owner: Address | undefined,
): Promise<readonly ShownKey[]> {
  const rows = await engine.read(sql`
    select keys.public_id, keys.wallet, keys.label, keys.created_unix, keys.revoked_unix,
      keys.successor, coalesce(balances.micro_usd, 0) as balance
    from keys left join balances on balances.account = 'key:' || keys.public_id
    where ${owner === undefined ? sql`1 = 1` : sql`keys.wallet = ${owner}`}
    order by keys.public_id`)
  return rows.map(toShown)
}

function toShown(row: Row): ShownKey {
  const revokedUnix = column.integerOrNull(row, 'revoked_unix')
  return {
    publicId: column.text(row, 'public_id'),
    owner: showAddress(column.hex(row, 'wallet')),
    label: column.textOrNull(row, 'label'),
    createdAt: toIso(column.integer(row, 'created_unix')),
    revokedAt: revokedUnix === null ? null : toIso(revokedUnix),
    successor: column.textOrNull(row, 'successor'),
    balanceUsd: formatDecimal(column.amount(row, 'balance'), 6),
  }
}

function inWords(key: ShownKey): string {
  const state = key.revokedAt === null ? 'active' : `revoked ${key.revokedAt}`
  const next = key.successor === null ? '' : `, replaced by ${key.successor}`
  const label = key.label === null ? '' : ` "${key.label}"`
  return `${key.publicId}  ${key.owner}  ${state}${next}  ${key.balanceUsd} USD${label}`
}

export interface Revoked {
  readonly revoked: readonly string[]
  /** Ids of keys that were already revoked. */
  readonly before: readonly string[]
}

/** Revokes all of them in one transaction, or none if one is unknown. */
export async function revokeKeys(
  connection: Connection,
  publicIds: readonly string[],
  nowUnix: number,
): Promise<Revoked> {
  const [revoked, before, unknown]: [string[], string[], string[]] = [[], [], []]
  // Sorted, so that two commands cannot deadlock.
  for (const publicId of [...new Set(publicIds)].sort()) {
    const key = await findKey(connection, publicId)
    if (key === undefined) unknown.push(publicId)
    else if ((await markRevoked(connection, { publicId, nowUnix })) === undefined)
      before.push(publicId)
    else revoked.push(publicId)
  }
  if (unknown.length > 0)
    throw new UpkeepError(
      `no key has the publicId ${unknown.join(', ')}; nothing was revoked, "sexton keys list" shows all`,
    )
  return { revoked, before }
}
