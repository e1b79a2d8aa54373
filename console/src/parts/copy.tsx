import { useState } from 'preact/hooks'
import { texts } from '../texts.ts'

export interface CopyProps {
  readonly text: string
  readonly label: string
  /** What it is of, where several stand on a page; said aloud only. */
  readonly of: string
}

/** Copies a text and says that it did. */
export function Copy({ text, label, of }: CopyProps) {
  const [copied, setCopied] = useState<string>()
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(text))
  return (
    <button type="button" class="as-link" onClick={copy}>
      {copied === text ? texts.copied : label}
      <span class="vh"> {of}</span>
    </button>
  )
}
