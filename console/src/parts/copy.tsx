import { useState } from 'preact/hooks'
import { texts } from '../texts.ts'

/** Copies a text and says that it did. */
export function Copy({ text, label }: { readonly text: string; readonly label: string }) {
  const [copied, setCopied] = useState<string>()
  const copy = () => navigator.clipboard.writeText(text).then(() => setCopied(text))
  return (
    <button type="button" class="as-link" onClick={copy}>
      {copied === text ? texts.copied : label}
    </button>
  )
}
