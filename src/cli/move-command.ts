import type { Command } from 'commander'
import { parseNumber, parseUrl } from '#main/variable.ts'
import { parsed, runUpkeep, type UpkeepOptions, upkeepCommand } from './run-upkeep.ts'

interface Options extends UpkeepOptions {
  readonly to: string
  readonly frozenSeconds: number
}

const MOVE = `
Run it while the service runs on the embedded databases. The register is copied first. Then calls get
503 metering_unavailable while the accounts are copied, compared row by row and audited; if anything
fails, the old service goes on. Afterwards the old file refuses to start and says where the accounts are.
Stop the old process, and start the new one with SEXTON_DATABASE_URL and the same SEXTON_DATA.

Exit code: 0 moved, 1 not moved (the reason says what to do), 2 wrong usage or configuration.

Examples:
  sexton move --to postgres://sexton:secret@db.example/sexton
  sexton move --data ./.sexton --to postgres://... --json
`

export function moveCommand(process: NodeJS.Process): Command {
  return upkeepCommand('move')
    .description('move a running installation from the embedded databases to PostgreSQL')
    .requiredOption(
      '--to <url>',
      'postgres:// URL of an empty database',
      parsed(parseUrl('postgres')),
    )
    .option(
      '--frozen-seconds <n>',
      'give up, and let the old service go on, after calls were refused for so long',
      parsed(parseNumber({ minimum: 1, maximum: 3_600 })),
      60,
    )
    .addHelpText('after', MOVE)
    .action((options: Options) =>
      runUpkeep(process, options, async (context, report) => {
        const { runMove } = await import('#upkeep/move/run-move.ts')
        return runMove(context, report, options)
      }),
    )
}
