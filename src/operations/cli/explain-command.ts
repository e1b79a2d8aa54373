import type { Command } from 'commander'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
import { type RoleOptions, roleCommand, runRole } from './run-role.ts'

interface Options extends RoleOptions {
  readonly json: boolean
  readonly tx?: string
}

const EXAMPLES = `
Shows the last five logs that a mapping matches, and what becomes of each and why. With --tx, all logs of
the contract in a transaction, also those left out. Exit code: 0 when there are
some, 1 when none matches, 2 when the file or the command is wrong or no node answers.

Examples:
  sexton explain 'burns[0]'
  sexton explain 'dividends[1]' --ecosystem my.json --json
`

export function explainCommand(process: NodeJS.Process): Command {
  return roleCommand('explain')
    .description('show what becomes of the last logs of a mapping')
    .argument('<mapping>', 'its place in the file, such as burns[0]')
    .option('--tx <hash>', 'explain the logs of this transaction instead')
    .option('--json', 'print one JSON object', false)
    .addHelpText('after', EXAMPLES)
    .action((mapping: string, options: Options) =>
      runRole(process, (context) => runExplain(context, mapping, options), options),
    )
}

async function runExplain(
  { settings, clock, process, show }: RoleContext,
  mapping: string,
  { json, tx }: Options,
): Promise<ExitCode> {
  const [{ explainMapping }, { chosenEcosystem }] = await Promise.all([
    import('#operations/setup/explain-mapping.ts'),
    import('#main/role-context.ts'),
  ])
  const ecosystem = await chosenEcosystem(settings)
  const found = await explainMapping({ clock }, { ecosystem, mapping, tx })
  const { logs, emitted, from, to, event, address, chain } = found
  if (json) process.stdout.write(`${JSON.stringify(found)}\n`)
  else {
    show(`${mapping}: ${event} of ${address} on ${chain}, blocks ${from} to ${to}`)
    for (const { block, txHash, logIndex, args, outcome } of logs) {
      const shown = Object.entries(args).map(([name, value]) => `${name}=${value}`)
      show(`block ${block}, log ${logIndex} of ${txHash}\n  ${shown.join(' ')}\n  ${outcome}`)
    }
    if (logs.length === 0 && tx !== undefined)
      show('The contract emits nothing in this transaction.')
    else if (logs.length === 0) {
      show('No log matches. Among its newest logs, the contract emits:')
      for (const [name, count] of Object.entries(emitted)) show(`  ${count} x ${name}`)
      if (Object.keys(emitted).length === 0) show('  nothing: check the address and startBlock')
    }
  }
  return logs.length === 0 ? 1 : 0
}
