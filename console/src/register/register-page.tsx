import type { Entry, Snapshot } from '../state/types.ts'
import { Empty } from './empty.tsx'
import { Entries } from './entries.tsx'
import { Headline } from './headline.tsx'
import { Leaders } from './leaders.tsx'
import { Ledger } from './ledger.tsx'
import { Share } from './share.tsx'

export interface RegisterPageProps {
  readonly snapshot: Snapshot
  readonly struck: readonly Entry[]
}

export function RegisterPage({ snapshot, struck }: RegisterPageProps) {
  const { figures, service, readable } = snapshot
  if (figures === null) return readable ? <Empty blocks={[]} /> : null
  const missing = new Set<string>(figures.meta.notConfigured)
  const isEmpty = figures.newest.length === 0 && struck.length === 0
  return (
    <>
      <Headline figures={figures} service={service} />
      <Ledger figures={figures} missing={missing} />
      {isEmpty ? (
        <Empty blocks={figures.meta.chains} />
      ) : (
        <section class="row" aria-labelledby="entries">
          <Entries newest={figures.newest} struck={struck} chains={service.chains} />
          {!missing.has('graveDigs') && <Leaders leaders={figures.leaders} />}
        </section>
      )}
      <Share />
    </>
  )
}
