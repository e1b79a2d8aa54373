import { type Command, Option } from 'commander'
import type { Problem } from '#ecosystem/problem.ts'
import { type CommandContext, chosenEcosystem, type ExitCode } from '#main/command-context.ts'
import { runOnStores, type StoreOptions, storeCommand } from './run-on-stores.ts'

interface Options extends StoreOptions {
  readonly offline: boolean
  readonly json: boolean
  readonly listing: boolean
}

const EXAMPLES = `
Checks the ecosystem file, then compares it with the chains, asks each RPC endpoint and PostgreSQL, and reports
all findings at once. Exit code: 0 when nothing is wrong (warnings allowed), 1 when something is, 2 when something
could not be checked.

Examples:
  sexton check
  sexton check --ecosystem my.json --offline
  sexton check --listing
`

export function checkCommand(process: NodeJS.Process): Command {
  return storeCommand('check')
    .description('check the ecosystem file, alone and against the chains, endpoints and PostgreSQL')
    .option('--offline', 'the file alone', false)
    .addOption(
      new Option('--listing', 'show instead what discovery lists of x402 facilitators show')
        .default(false)
        .conflicts(['offline', 'json']),
    )
    .option('--json', 'print one JSON object', false)
    .addHelpText('after', EXAMPLES)
    .action((options: Options) =>
      runOnStores(
        process,
        (context) => (options.listing ? showListing(context) : runCheck(context, options)),
        options,
      ),
    )
}

async function showListing(context: CommandContext): Promise<ExitCode> {
  const [{ toListing }, { readSettlingSetting }, ecosystem] = await Promise.all([
    import('#payments/x402/offer.ts'),
    import('#payments/x402/settling.ts'),
    chosenEcosystem(context.config),
  ])
  if (ecosystem.payment === null) {
    context.show('not listed: the ecosystem file has no "payment"')
    return 1
  }
  if (readSettlingSetting({ ...context, ecosystem })?.kind !== 'facilitator') {
    context.show('not listed: payments are not settled by a facilitator')
    return 1
  }
  const listing = toListing({ ...context, ecosystem })
  context.process.stdout.write(`${JSON.stringify(listing, null, 2)}\n`)
  return 0
}

async function runCheck(
  { config, clock, progress, process, show }: CommandContext,
  { offline, json }: Options,
): Promise<ExitCode> {
  const [{ checkDatabase, checkFile, checkRegister }, { localFilePath }] = await Promise.all([
    import('#ops/setup/check-file.ts'),
    import('#main/local-chains.ts'),
  ])
  const file = config.ecosystemFile ?? localFilePath(config.dataFolder)
  const checked = await checkFile(clock, { file, offline, onProgress: progress.update })
  const { warnings, unchecked, rows } = checked
  const errors = [...checked.errors, ...(offline ? [] : await checkDatabase(config))]
  const build =
    offline || errors.length > 0
      ? undefined
      : await checkRegister(config, await chosenEcosystem(config))
  progress.finish()
  if (json)
    process.stdout.write(`${JSON.stringify({ file, errors, warnings, unchecked, rows, build })}\n`)
  else {
    const of = (word: string) => (each: Problem) => show(`${word}  ${each.field}: ${each.message}`)
    rows.forEach(of('row    '))
    errors.forEach(of('WRONG  '))
    warnings.forEach(of('warning'))
    for (const each of unchecked) show(`unknown  ${each}`)
    if (build !== undefined) show(`build  ${build}`)
    if (errors.length + warnings.length + unchecked.length === 0)
      show(offline ? `${file} is well-formed.` : `${file} agrees with the chains.`)
  }
  if (errors.length > 0) return 1
  return unchecked.length > 0 ? 2 : 0
}
