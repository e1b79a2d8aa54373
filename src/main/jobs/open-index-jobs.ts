import type { Logger } from 'pino'
import type { ChainSource } from '#chains/chain/chain-source.ts'
import { DepositProver } from '#chains/datasets/deposits/proof/prove-deposits.ts'
import { watchBalance } from '#chains/datasets/deposits/proof/watch-balance.ts'
import { filePartsOf } from '#chains/datasets/file-parts.ts'
import { proveDue } from '#chains/datasets/holders/proof/prove-due.ts'
import type { Chain, Ecosystem, Payment } from '#chains/ecosystem/ecosystem.ts'
import { isOwnRegister } from '#chains/indexer/indexed-config/is-own-register.ts'
import { createNodeStates } from '#chains/indexer/node-states.ts'
import type { Clock } from '#lib/time.ts'
import type { OpenJob } from '#operations/jobs/run-jobs.ts'
import type { Connection, Engine } from '#store/engine.ts'
import { reportDeposit, reportProof } from '../roles/report-index.ts'
import { createAnomalyReport } from '../roles/report-mappings.ts'
import { type JobOf, jobsOf } from './job-list.ts'

interface IndexJobDeps {
  readonly ecosystem: Ecosystem
  /** The leader's: a write fails once another process leads. */
  readonly register: Engine
  readonly clock: Clock
  readonly logger: Logger
  chainOf(chainId: number): Chain
  sourceOf(chainId: number): ChainSource
}

type Runs = Partial<Record<JobOf<'index'>, OpenJob['run']>>

export function openIndexJobs(deps: IndexJobDeps): readonly OpenJob[] {
  const { ecosystem, clock, register } = deps
  const { payment } = ecosystem
  const file = filePartsOf(ecosystem)
  const isOurs = (connection: Connection) => isOwnRegister(connection, file)
  const runs: Runs = {
    ...(payment !== null && openDepositJobs({ ...deps, payment, isOurs })),
    proofs: openProofs({ ...deps, isOurs }),
    mappings: createAnomalyReport(deps),
    nodes: createNodeStates({
      register,
      clock,
      chainIds: ecosystem.chains.map(({ id }) => id),
      endpoints: (chainId) => deps.sourceOf(chainId).endpoints(),
    }),
  }
  const settings = { settling: undefined, signingKeys: undefined }
  return jobsOf('index', { ecosystem, settings }).flatMap((job) => {
    const run = runs[job.name]
    return run === undefined ? [] : [{ ...job, run }]
  })
}

type OwnDeps = IndexJobDeps & { isOurs(connection: Connection): Promise<boolean> }

function openProofs(deps: OwnDeps): OpenJob['run'] {
  const told: Parameters<typeof proveDue>[1] = new Map()
  const proving: Parameters<typeof proveDue>[0] = {
    ...deps,
    onProof: (proof) => reportProof(deps.logger, deps.chainOf(proof.chainId), proof),
  }
  return (signal) => proveDue(proving, told, signal)
}

function openDepositJobs(deps: OwnDeps & { readonly payment: Payment }): Runs {
  const { logger, payment } = deps
  const proving: ConstructorParameters<typeof DepositProver>[0] = {
    ...deps,
    report: (news) => reportDeposit(logger, payment.chain, news),
  }
  const prover = new DepositProver(proving)
  return {
    deposits: (signal) => prover.proveStored(signal),
    omissions: (signal) => watchBalance({ ...proving, prover }, signal),
  }
}
