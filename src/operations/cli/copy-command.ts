import type { Command } from 'commander'
import { parseUrl, type Reading } from '#main/variable.ts'
import type { CopyOptions } from '#operations/copy/run-copy.ts'
import { parsed, runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

const COPY = `
Stores are a data folder or a postgres:// URL; without --from or --to they are the configured ones.

  to a .sqlite file   A backup of the accounts as they are at one moment, while the service runs. It never
                      overwrites. The register is not part of it: it is built from the chains.
  from such a file    A restore into empty accounts. Keys that were revoked since stay revoked, as far as
                      revocations.jsonl of the folder, or the accounts of --old, can be read. Stop the old
                      service first: what it accepts meanwhile could be accepted again.
  between stores      A move of both stores into a new folder or empty database; name --from and --to. Stop
                      every process of both sides first. Afterwards the source refuses to start.

Every copy is one transaction of the target, read back, compared by digests and audited: run it again if
it was killed.

Exit code: 0 done, 1 not done, or done with something to look at (a backup of accounts that fail their
audit, a restore with damaged notes of revocations), 2 wrong usage or configuration.

Examples:
  sexton copy --to /backups/today.sqlite
  sexton copy --from /backups/today.sqlite --to ./new --old ./.sexton
  sexton copy --from ./.sexton --to postgres://sexton:secret@db.example/sexton
`

export function copyCommand(process: NodeJS.Process): Command {
  return upkeepCommand('copy')
    .description('back up the accounts, restore a backup, or move both stores')
    .option('--from <stores>', 'data folder, postgres:// URL, or a backup', parsed(parseStores))
    .option('--to <stores>', 'data folder, postgres:// URL, or a .sqlite file', parsed(parseStores))
    .option(
      '--old <stores>',
      'accounts that a restore replaces, readable or not',
      parsed(parseStores),
    )
    .option('--despite-differences', 'copy accounts that fail their audit', false)
    .addHelpText('after', COPY)
    .action((options: CopyOptions & UpkeepOptions) =>
      runUpkeep(process, options, async (context, report) => {
        const { runCopy } = await import('#operations/copy/run-copy.ts')
        return runCopy(context, report, options)
      }),
    )
}

/** Parse it here, because this refusal hides passwords. */
function parseStores(text: string): Reading<string> {
  return /:\/\/|^postgres(?:ql)?:/i.test(text)
    ? parseUrl('postgres')(text)
    : { ok: true, value: text }
}
