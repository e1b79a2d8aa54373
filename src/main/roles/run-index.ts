import { progressGauges, type RoleState } from '#operations/health/index-gauges.ts'
import { barOf, type IndexProgress } from '#operations/health/index-progress.ts'
import { stateOfRegister } from '#operations/health/store-state.ts'
import type { Engine } from '#store/engine.ts'
import { chosenEcosystem, type ExitCode, type RoleContext } from '../role-context.ts'
import { reportMigrations } from '../stores.ts'
import { runIndexRole } from './index-role.ts'
import { openRegister } from './open-register.ts'
import { untilStopped } from './until-stopped.ts'

/** `sexton index`: the indexer alone. */
export async function runIndex(context: RoleContext): Promise<ExitCode> {
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
  const gauges = progressGauges(input)
  const stores = async () => {
    const register = input.register()
    return {
      register: register === undefined ? 'being opened' : await stateOfRegister(register),
    }
  }
  // Loads prom-client.
  const { openRoleProbe } = await import('#operations/health/role-probe.ts')
  return openRoleProbe({ role: 'index', state, gauges, stores }, indexMetrics)
}
