import type { Logger } from 'pino'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import { DepositProver } from '#chains/datasets/deposits/proof/prove-deposits.ts'
import { watchBalance } from '#chains/datasets/deposits/proof/watch-balance.ts'
import { filePartsOf } from '#chains/datasets/file-parts.ts'
import { proveDue } from '#chains/datasets/holders/proof/prove-due.ts'
import type { Chain, Ecosystem } from '#chains/ecosystem/ecosystem.ts'
import { isOwnRegister } from '#chains/indexer/indexed-config/is-own-register.ts'
import { createNodeStates } from '#chains/indexer/node-states.ts'
import type { Clock } from '#lib/time.ts'
import type { OpenJob } from '#operations/jobs/run-jobs.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { reportDeposit, reportProof } from '../roles/report-index.ts'
import { isPaid, type ListedJob, openAll, wantedOf } from './listed-job.ts'

interface IndexJobDeps {
  readonly ecosystem: Ecosystem
  /** The leader's: a write fails once another process leads. */
  readonly register: Engine
  readonly clock: Clock
  readonly logger: Logger
  chainOf(chainId: number): Chain
  sourceOf(chainId: number): ChainSource
}

interface OwnDeps extends IndexJobDeps {
  isOurs(connection: Connection): Promise<boolean>
  readonly deposits: DepositsToProve
}

type ProvingDeps = ConstructorParameters<typeof DepositProver>[0]

/** What the jobs of deposits share; undefined without payments. */
type DepositsToProve = (ProvingDeps & { readonly prover: DepositProver }) | undefined

/** All that the leading indexer does again and again, beside indexing. */
export const INDEX_JOBS: readonly ListedJob<OwnDeps>[] = [
  {
    name: 'omissions',
    everySeconds: 1,
    // The first run may read all that payTo ever sent.
    budgetSeconds: 3_600,
    whileFailing: 'a deposit that a node left out stays unseen',
    isWanted: isPaid,
    open:
      ({ deposits }) =>
      async (signal) =>
        deposits && watchBalance(deposits, signal),
  },
  {
    name: 'proofs',
    everySeconds: 0.5,
    budgetSeconds: 600,
    whileFailing: 'figures are not compared with the token contracts',
    open: openProofs,
  },
  {
    name: 'nodes',
    everySeconds: 5,
    budgetSeconds: 30,
    whileFailing: '/readyz of other processes shows old states of nodes',
    open: ({ register, clock, ecosystem, sourceOf }) =>
      createNodeStates({
        register,
        clock,
        chainIds: ecosystem.chains.map(({ id }) => id),
        endpoints: (chainId) => sourceOf(chainId).endpoints(),
      }),
  },
]

export function openIndexJobs(deps: IndexJobDeps): Promise<readonly OpenJob[]> {
  const { ecosystem } = deps
  const file = filePartsOf(ecosystem)
  const isOurs = (connection: Connection) => isOwnRegister(connection, file)
  const settings = { settling: undefined, signingKeys: undefined }
  const own = { ...deps, isOurs, deposits: depositsToProve({ ...deps, isOurs }) }
  return openAll(wantedOf(INDEX_JOBS, { ecosystem, settings }), own)
}

function depositsToProve(deps: Omit<OwnDeps, 'deposits'>): DepositsToProve {
  const { logger, ecosystem } = deps
  const { payment } = ecosystem
  if (payment === null) return undefined
  const proving: ProvingDeps = {
    ...deps,
    payment,
    report: (news) => reportDeposit(logger, payment.chain, news),
  }
  return { ...proving, prover: new DepositProver(proving) }
}

function openProofs(deps: OwnDeps): OpenJob['run'] {
  const told: Parameters<typeof proveDue>[1] = new Map()
  const proving: Parameters<typeof proveDue>[0] = {
    ...deps,
    onProof: (proof) => reportProof(deps.logger, deps.chainOf(proof.chainId), proof),
  }
  return (signal) => proveDue(proving, told, signal)
}
