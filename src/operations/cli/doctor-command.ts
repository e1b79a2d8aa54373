import { existsSync } from 'node:fs'
import { type Command, Option } from 'commander'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
import { ROLES, type Role } from '#operations/grants/rights.ts'
import { type RoleOptions, roleCommand, runRole } from './run-role.ts'

interface Options extends RoleOptions {
  readonly json: boolean
  readonly role?: Role
}

const EXAMPLES = `
Looks at ports, disk, clock, package, databases and every RPC endpoint of the file; changes nothing. Exit code:
0 when nothing fails (warnings allowed), 1 when something does, 2 when settings or file are wrong.

Examples:
  sexton doctor
  SEXTON_DATABASE_URL=postgres://... sexton doctor --role serve
  SEXTON_DATABASE_URL=postgres://... sexton doctor --ecosystem my.json --json
`

export function doctorCommand(process: NodeJS.Process): Command {
  return roleCommand('doctor')
    .description('look at the machine, the databases and the RPC endpoints')
    .option('--json', 'print one JSON object', false)
    .addOption(
      new Option('--role <name>', 'fail if the database role lacks rights of it').choices(ROLES),
    )
    .addHelpText('after', EXAMPLES)
    .action((options: Options) =>
      runRole(process, (context) => runDoctor(context, options), options),
    )
}

async function runDoctor(
  { settings, clock, progress, process, show }: RoleContext,
  { json, role }: Options,
): Promise<ExitCode> {
  const [{ examine }, { chosenEcosystem }, { localFilePath }] = await Promise.all([
    import('#operations/setup/doctor.ts'),
    import('#main/role-context.ts'),
    import('#main/roles/local-chains.ts'),
  ])
  const hasFile =
    settings.ecosystemFile !== undefined || existsSync(localFilePath(settings.dataFolder))
  const ecosystem = hasFile ? await chosenEcosystem(settings) : undefined
  const onProgress = progress.update
  const { findings, endpoints } = await examine({ settings, clock, role, onProgress }, ecosystem)
  progress.finish()
  if (json) process.stdout.write(`${JSON.stringify({ findings, endpoints })}\n`)
  else {
    for (const { level, subject, detail } of findings)
      show(`${level === 'fail' ? 'FAIL' : level.padEnd(4)}  ${subject}: ${detail}`)
    if (!hasFile)
      show('No ecosystem file, so no endpoint was looked at; name one with --ecosystem.')
  }
  return findings.some(({ level }) => level === 'fail') ? 1 : 0
}
