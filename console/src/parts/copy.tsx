import { useState } from 'preact/hooks'
import { texts } from '../texts.ts'

export interface CopyProps {
  readonly text: string
  readonly label: string
  /** What it is of, where several stand on a page; said aloud only. */
  readonly of: string
  readonly class?: string
}

/** Copies a text and says that it did, or that the person has to. */
export function Copy({ text, label, of, class: look = 'as-link' }: CopyProps) {
  const [done, setDone] = useState<readonly [text: string, isCopied: boolean]>()
  const copy = async () => setDone([text, await copied(text)])
  const said = done?.[0] === text ? (done[1] ? texts.copied : texts.copyYourself) : label
  return (
    <button type="button" class={look} onClick={copy}>
      {said}
      {of !== '' && <span class="vh"> {of}</span>}
    </button>
  )
}

/** Browsers give the clipboard to pages over https only; over http the text is selected and copied as by hand. */
async function copied(text: string): Promise<boolean> {
  if (navigator.clipboard !== undefined)
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    )
  const field = document.createElement('textarea')
  field.value = text
  document.body.append(field)
  field.select()
  const isCopied = document.execCommand('copy')
  field.remove()
  return isCopied
}
