import '../entries.css'
import { entriesTexts } from '../entries-texts.ts'
import { useWords } from '../parts/file-context.ts'
import { AllEntries, type TabProps } from './all-entries.tsx'
import { Diggers, Holders } from './ranking.tsx'

export interface EntriesPageProps extends Omit<TabProps, 'children'> {
  /** The last part of the path. */
  readonly tab: string
}

/** All entries, top holders and top diggers: one page in three addresses. */
export function EntriesPage({ tab, ...props }: EntriesPageProps) {
  const say = useWords()
  const hasDigs = !props.snapshot.service.notConfigured.includes('graveDigs')
  const link = (path: string, name: string) => (
    <a href={`/entries${path && `/${path}`}`} aria-current={tab === path ? 'page' : undefined}>
      {name}
    </a>
  )
  const tabs = (
    <nav class="tabs" aria-label={entriesTexts.tabs.label}>
      {link('', entriesTexts.tabs.all)}
      {link('holders', entriesTexts.tabs.holders)}
      {hasDigs && link('diggers', say(entriesTexts.tabs.diggers))}
    </nav>
  )
  if (tab === 'holders') return <Holders {...props}>{tabs}</Holders>
  if (tab === 'diggers') return <Diggers {...props}>{tabs}</Diggers>
  return <AllEntries {...props}>{tabs}</AllEntries>
}
