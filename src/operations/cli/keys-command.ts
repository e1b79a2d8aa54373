import { Command } from 'commander'
import type { Reading } from '#config.ts'
import { type Address, parseAddress } from '#domain/address.ts'
import { parsed, runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

const KEYS = `
Works while the service runs. A revoked key is refused by every replica within a second.

Exit code: 0 done, 1 refused (nothing was changed), 2 wrong usage or configuration.

Examples:
  sexton keys list --owner 0x1234...
  sexton keys revoke 0a1b2c3d 4e5f6a7b
`

export function keysCommand(process: NodeJS.Process): Command {
  const keys = new Command('keys').description('list or revoke keys').addHelpText('afterAll', KEYS)
  for (const make of [listCommand, revokeCommand]) keys.addCommand(make(process))
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

function parseOwner(text: string): Reading<Address> {
  const value = parseAddress(text)
  return value === undefined ? { ok: false, reason: 'must be an EVM address' } : { ok: true, value }
}
