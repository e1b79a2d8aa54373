import type { Command } from 'commander'
import type { Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import type { RoleState } from '#main/gauges/index-gauges.ts'
import type { ExitCode, RoleContext } from '#main/role-context.ts'
import type { Stores } from '#main/stores.ts'
import { type RoleOptions, roleCommand, runRole } from './run-role.ts'

const EXAMPLES = `
Credits deposits found in the register to the accounts. One verifier runs at a time; others stand by.

Examples:
  SEXTON_DATABASE_URL=postgres://... sexton verify --ecosystem my.json
`

export function verifyCommand(process: NodeJS.Process): Command {
  return roleCommand('verify')
    .description('credit prepayments, send webhooks and close finished days')
    .addHelpText('after', EXAMPLES)
    .action((options: RoleOptions) => runRole(process, runVerify, options))
}

async function runVerify(context: RoleContext): Promise<ExitCode> {
  // Lazy: help need not load the service.
  const [
    { chosenEcosystem },
    { untilStopped },
    { runVerifyRole },
    { openStores, reportMigrations },
  ] = await Promise.all([
    import('#main/role-context.ts'),
    import('#main/roles/until-stopped.ts'),
    import('#main/roles/verify-role.ts'),
    import('#main/stores.ts'),
  ])
  const { settings, logger, clock } = context
  const ecosystem = await chosenEcosystem(settings)
  const stores = await openStores(settings, reportMigrations(logger))
  const state: RoleState = { leads: undefined }
  const probe = await openProbe(context, { ecosystem, state, stores }).catch(
    async (error: unknown) => {
      await stores.close()
      throw error
    },
  )
  const ending = new AbortController()
  const verifying = runVerifyRole(
    // Waiting requests are in other processes, which poll.
    {
      ecosystem,
      stores,
      clock,
      logger,
      settings,
      onChange: () => undefined,
      onLead(leads) {
        state.leads = leads
      },
    },
    ending.signal,
  )
  const stop = async () => {
    ending.abort()
    await verifying
  }
  try {
    logger.info('verifying prepayments')
    return await untilStopped(context, stop, verifying)
  } finally {
    await probe?.stop()
    await stores.close()
  }
}

async function openProbe(
  { settings, clock }: RoleContext,
  {
    ecosystem,
    state,
    stores,
  }: { readonly ecosystem: Ecosystem; readonly state: RoleState; readonly stores: Stores },
) {
  const { verifyMetrics } = settings
  if (verifyMetrics === undefined) return undefined
  const [
    { jobGauges, describeJobs },
    { openRoleProbe },
    { stateOfRegister, watchAccounts },
    { allJobs },
  ] = await Promise.all([
    import('#main/gauges/job-gauges.ts'),
    import('#main/gauges/role-probe.ts'),
    import('#main/gauges/store-state.ts'),
    import('#main/jobs/job-list.ts'),
  ])
  const accounts = watchAccounts(stores.accounts, clock, 'verify')
  const jobs = { clock, lists: allJobs({ ecosystem, settings, stores }) }
  const read = async () => ({
    register: await stateOfRegister(stores.register, 'verify'),
    accounts: await accounts(),
  })
  const probe = { role: 'verifier', state, gauges: jobGauges(jobs), stores: read } as const
  return openRoleProbe({ ...probe, more: () => describeJobs(jobs) }, verifyMetrics)
}
