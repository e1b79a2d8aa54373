import type { Command } from 'commander'
import { runBuild } from '#main/run-build.ts'
import { runOnStores, type StoreOptions, storeCommand } from './run-on-stores.ts'

const EXAMPLES = `
A register belongs to one ecosystem file: what changes figures (contracts, events, prices, first blocks, burn
addresses) needs another. Build it while the service goes on with the old one, then restart; the old one is deleted
once no process has served it for an hour. "sexton check" says whether a build is needed. A build that is stopped goes on
where it was.

Examples:
  sexton build
  SEXTON_DATABASE_URL=postgres://... sexton build --ecosystem my.json
`

export function buildCommand(process: NodeJS.Process): Command {
  return storeCommand('build')
    .description('read the register of the ecosystem file, also while a service runs')
    .addHelpText('after', EXAMPLES)
    .action((options: StoreOptions) => runOnStores(process, runBuild, options))
}
