import type { Snapshot } from '../state/types.ts'
import { texts } from '../texts.ts'
import { age, count } from './format.ts'
import { Mark } from './mark.tsx'
import { useNow } from './now.ts'
import { Search } from './search.tsx'
import { switchTheme } from './theme.ts'

export interface MastheadProps {
  readonly snapshot: Snapshot
  /** First part of the path. */
  readonly current: string
}

export function Masthead({ snapshot, current }: MastheadProps) {
  const link = (path: string, name: string) => (
    <a href={`/${path}`} aria-current={current === path ? 'page' : undefined}>
      {name}
    </a>
  )
  return (
    <header class="mast">
      <a class="brand" href="/">
        <Mark />
        {snapshot.service.service}
      </a>
      <div class="right">
        <nav aria-label={texts.nav.label}>
          {link('', texts.nav.register)}
          {link('entries', texts.nav.entries)}
          {link('keys', texts.nav.keys)}
          {link('try', texts.nav.try)}
          <a href="/scalar/v1">{texts.nav.docs}</a>
        </nav>
        <Search />
        <Chains snapshot={snapshot} />
        <button type="button" class="btn icon" aria-label={texts.theme} onClick={switchTheme}>
          <svg viewBox="0 0 18 18" aria-hidden="true">
            <circle cx="9" cy="9" r="6.6" fill="none" stroke="currentColor" stroke-width="1.5" />
            <path d="M9 2.400a6.600 6.600 0 0 1 0 13.200z" fill="currentColor" />
          </svg>
        </button>
      </div>
    </header>
  )
}

/** Each chain's newest block and its age; amber with a triangle when it is silent. */
function Chains({ snapshot }: Pick<MastheadProps, 'snapshot'>) {
  const now = useNow()
  return (
    <div class="chains" translate={false}>
      {snapshot.figures?.meta.chains.map(({ chain, blockNumber, blockTimeUnix, status }, index) => (
        <span key={chain} class={status === 'stale' ? 'warn' : ''}>
          <i class={`dot chain-${index % 4}`} />
          <b>{chain}</b> {status === 'stale' && <span aria-hidden="true">△ </span>}
          {count(blockNumber)}
          <span class="lag">, {texts.ago(age(now - blockTimeUnix))}</span>
        </span>
      ))}
    </div>
  )
}
