import { Command } from 'commander'
import { type Address, parseAddress } from '#domain/address.ts'
import { PUBLIC_ID } from '#domain/caller.ts'
import { parseDecimal } from '#lib/decimal.ts'
import { parseInstant } from '#lib/instant.ts'
import type { Reading } from '#main/variable.ts'
import type { QuotaOptions, QuotaOwner } from '#operations/upkeep/keys/run-quota.ts'
import { parsed, runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

const KEYS = `
Works while the service runs. A revoked key is refused by every replica within a second. A grant is
money of yours on a key: an entry of its own kind in the ledger, never shown as a deposit. The same --id
grants once only, so that a command may be repeated.

A granted quota is what a wallet has for free each UTC day, with all its keys, where its tier brings less.
Every replica follows within a second, also when it ends. "default" in place of a number withdraws it.

Exit code: 0 done, 1 refused (nothing was changed), 2 wrong usage or configuration.

Examples:
  sexton keys list --owner 0x1234...
  sexton keys revoke 0a1b2c3d 4e5f6a7b
  sexton keys grant 0a1b2c3d 5.25 --reason "outage of 3 March" --id ticket-17
  sexton keys quota 0x1234... 100000 --until 2027-01-31 --reason "partner"
  sexton keys quota 0a1b2c3d default
`

export function keysCommand(process: NodeJS.Process): Command {
  const keys = new Command('keys')
    .description('list or revoke keys, or grant money or a quota')
    .addHelpText('afterAll', KEYS)
  for (const make of [listCommand, revokeCommand, grantCommand, quotaCommand])
    keys.addCommand(make(process))
  return keys
}

function listCommand(process: NodeJS.Process): Command {
  return upkeepCommand('list')
    .description('all keys with owner, state and balance')
    .option('--owner <address>', 'only keys of this wallet', parsed(parseOwner))
    .action((options: UpkeepOptions & { readonly owner?: Address }) =>
      runUpkeep(process, options, async (context, report) => {
        const { runList } = await import('#operations/upkeep/keys/run-keys.ts')
        return runList(context, report, options)
      }),
    )
}

function revokeCommand(process: NodeJS.Process): Command {
  return upkeepCommand('revoke')
    .description('revoke keys; all, or none if one is unknown')
    .argument('<publicId...>', 'public ids of the keys')
    .action((publicIds: string[], options: UpkeepOptions) =>
      runUpkeep(process, options, async (context, report) => {
        const { runRevoke } = await import('#operations/upkeep/keys/run-keys.ts')
        return runRevoke(context, report, publicIds)
      }),
    )
}

interface GrantOptions extends UpkeepOptions {
  readonly reason: string
  readonly id?: string
}

function grantCommand(process: NodeJS.Process): Command {
  return upkeepCommand('grant')
    .description('give money to a key')
    .argument('<publicId>', 'public id of the key')
    .argument('<usd>', 'amount with at most 6 decimals', parsed(parseUsd))
    .requiredOption('--reason <text>', 'why; kept with the entry', parsed(parseReason))
    .option('--id <id>', 'grants once only (default: a new one, which is printed)', parsed(parseId))
    .action((publicId: string, microUsd: bigint, options: GrantOptions) =>
      runUpkeep(process, options, async (context, report) => {
        const { runGrant } = await import('#operations/upkeep/keys/run-keys.ts')
        return runGrant(context, report, { ...options, publicId, microUsd })
      }),
    )
}

function quotaCommand(process: NodeJS.Process): Command {
  return upkeepCommand('quota')
    .description('grant a wallet more free calls')
    .argument('<owner>', 'a wallet, or the public id of one of its keys', parsed(parseQuotaOwner))
    .argument('<calls>', 'free calls per UTC day, or "default"', parsed(parseQuota))
    .option('--until <time>', 'RFC 3339, or a date: its 00:00 UTC', parsed(parseUntil))
    .option('--reason <text>', 'why; kept with the quota', parsed(parseReason))
    .action(
      (
        owner: QuotaOwner,
        calls: number | 'default',
        options: UpkeepOptions & Pick<QuotaOptions, 'until' | 'reason'>,
      ) =>
        runUpkeep(process, options, async (context, report) => {
          const { runQuota } = await import('#operations/upkeep/keys/run-quota.ts')
          return runQuota(context, report, { ...options, owner, calls })
        }),
    )
}

function parseQuotaOwner(text: string): Reading<QuotaOwner> {
  if (PUBLIC_ID.test(text)) return { ok: true, value: { publicId: text } }
  const wallet = parseAddress(text)
  return wallet === undefined
    ? { ok: false, reason: 'must be an EVM address or a publicId (8 hex digits)' }
    : { ok: true, value: { wallet } }
}

/** Ten thousand calls a second, all day long. */
const QUOTA_MAX = 864_000_000

function parseQuota(text: string): Reading<number | 'default'> {
  if (text === 'default') return { ok: true, value: text }
  const value = /^[0-9]{1,9}$/.test(text) ? Number(text) : 0
  return value > 0 && value <= QUOTA_MAX
    ? { ok: true, value }
    : { ok: false, reason: `must be from 1 to ${QUOTA_MAX}, or default` }
}

function parseUntil(text: string): Reading<number> {
  const ms = parseInstant(text) ?? parseInstant(`${text}T00:00:00Z`)
  return ms === undefined
    ? { ok: false, reason: 'must be a time such as 2027-01-31T12:00:00Z, or a date' }
    : { ok: true, value: Math.floor(ms / 1000) }
}

function parseOwner(text: string): Reading<Address> {
  const value = parseAddress(text)
  return value === undefined ? { ok: false, reason: 'must be an EVM address' } : { ok: true, value }
}

/** A million dollars at once is a slip of the keyboard. */
const GRANT_MICRO_USD_MAX = 1_000_000_000_000n

function parseUsd(text: string): Reading<bigint> {
  const value = parseDecimal(text, 6) ?? 0n
  return value > 0n && value <= GRANT_MICRO_USD_MAX
    ? { ok: true, value }
    : { ok: false, reason: 'must be from 0.000001 to 1000000 with at most 6 decimals' }
}

function parseReason(text: string): Reading<string> {
  const value = text.trim()
  return value !== '' && value.length <= 500
    ? { ok: true, value }
    : { ok: false, reason: 'must have 1 to 500 characters' }
}

function parseId(text: string): Reading<string> {
  return /^[\w.:-]{1,100}$/.test(text)
    ? { ok: true, value: text }
    : { ok: false, reason: 'must have 1 to 100 letters, digits or ._:-' }
}
