import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import { inWords } from '#site/event-card.ts'
import type { Snapshot } from '../state/types.ts'

/** What the ecosystem's file calls things. */
export const FileContext = createContext<Pick<Snapshot, 'words' | 'labels'>>({
  words: {},
  labels: {},
})

/** Puts texts into the file's own words. */
export function useWords(): (text: string) => string {
  const { words } = useContext(FileContext)
  return (text) => inWords(text, words)
}
