import type { Command } from 'commander'
import type { RoleState } from '#main/gauges/index-gauges.ts'
import type { IndexProgress } from '#main/gauges/index-progress.ts'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
import type { Engine } from '#store/engine.ts'
import { ON_CHANGED_FILE, type RoleOptions, roleCommand, runRole } from './run-role.ts'

const EXAMPLES = `
One indexer runs at a time; any other stands by and takes over when it stops.

Examples:
  SEXTON_DATABASE_URL=postgres://... sexton index --ecosystem my.json
`

export function indexCommand(process: NodeJS.Process): Command {
  return roleCommand('index')
    .description('index the chains into the register')
    .option(...ON_CHANGED_FILE)
    .addHelpText('after', EXAMPLES)
    .action((options: RoleOptions & { readonly onChangedFile?: string }) =>
      runRole(process, runIndex, options, { SEXTON_ON_CHANGED_FILE: options.onChangedFile }),
    )
}

async function runIndex(context: RoleContext): Promise<ExitCode> {
  // Lazy: help need not load the service.
  const [
    { barOf },
    { chosenEcosystem },
    { runIndexRole },
    { openRegister },
    { untilStopped },
    { reportMigrations },
  ] = await Promise.all([
    import('#main/gauges/index-progress.ts'),
    import('#main/role-context.ts'),
    import('#main/roles/index-role.ts'),
    import('#main/roles/open-register.ts'),
    import('#main/roles/until-stopped.ts'),
    import('#main/stores.ts'),
  ])
  const { settings, progress } = context
  const ecosystem = await chosenEcosystem(settings)
  const known = new Map<string, IndexProgress>()
  const state: RoleState = { leads: undefined }
  let opened: Engine | undefined
  const indexing = () => [...known.values()]
  const probe = await openProbe(settings, state, { register: () => opened, indexing })
  const register = await openRegister(settings, reportMigrations(context.logger)).catch(
    async (error: unknown) => {
      await probe?.stop()
      throw error
    },
  )
  opened = register
  const ending = new AbortController()
  const running = runIndexRole(
    {
      ...context,
      ecosystem,
      register,
      onChangedFile: settings.onChangedFile,
      onLead(leads) {
        state.leads = leads
      },
      onProgress(chain) {
        known.set(chain.chain, chain)
        const { task, done, total, detail } = barOf(chain)
        progress.update(task, done, total, detail)
      },
    },
    ending.signal,
  )
  const stop = async () => {
    ending.abort()
    await running
  }
  try {
    return await untilStopped(context, stop, running)
  } finally {
    await probe?.stop()
    await register.close()
  }
}

async function openProbe(
  { indexMetrics }: RoleContext['settings'],
  state: RoleState,
  input: { readonly register: () => Engine | undefined; indexing(): readonly IndexProgress[] },
) {
  if (indexMetrics === undefined) return undefined
  const [{ progressGauges }, { openRoleProbe }, { stateOfRegister }] = await Promise.all([
    import('#main/gauges/index-gauges.ts'),
    import('#main/gauges/role-probe.ts'),
    import('#main/gauges/store-state.ts'),
  ])
  const gauges = progressGauges(input)
  const stores = async () => {
    const register = input.register()
    return {
      register: register === undefined ? 'being opened' : await stateOfRegister(register, 'index'),
    }
  }
  return openRoleProbe({ role: 'index', state, gauges, stores }, indexMetrics)
}
