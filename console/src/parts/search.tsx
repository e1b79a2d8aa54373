import { useLayoutEffect, useRef, useState } from 'preact/hooks'
import { texts } from '../texts.ts'
import { shortAddress } from './format.ts'
import { readAddress, readTransaction, useMyWallet } from './my-wallet.ts'

const t = texts.search

/** A field that takes an address to its page; below 1240 px an icon opens it. */
export function Search() {
  const [isOpen, setOpen] = useState(false)
  const [wrong, setWrong] = useState<string>()
  const place = useRef<HTMLFormElement>(null)
  const field = useRef<HTMLInputElement>(null)
  const open = () => {
    setOpen(true)
    field.current?.focus()
  }
  // Where the field is hidden until then. At once, so that no key that is typed next is lost.
  useLayoutEffect(() => {
    if (isOpen) field.current?.focus()
  }, [isOpen])
  const close = () => {
    setOpen(false)
    setWrong(undefined)
    field.current?.blur()
  }
  useLayoutEffect(() => onSlash(open), [])
  const find = (event: Event) => {
    event.preventDefault()
    const text = field.current?.value ?? ''
    const [address, hash] = [readAddress(text), readTransaction(text)]
    if (address !== undefined) location.assign(`/wallet/${address}`)
    else if (hash !== undefined) location.assign(`/tx/${hash}`)
    else setWrong(/^[^.\s]+\.[^.\s]/.test(text.trim()) ? t.noNames : t.wrong)
  }
  return (
    <search class={isOpen ? 'find open' : 'find'}>
      <button type="button" class="btn icon find-icon" aria-label={t.label} onClick={open}>
        <Glass />
      </button>
      <form
        ref={place}
        onSubmit={find}
        onKeyDown={({ key }) => key === 'Escape' && close()}
        onFocusOut={({ relatedTarget }) => {
          if (!place.current?.contains(relatedTarget as Node | null)) setOpen(false)
        }}
      >
        <label>
          <Glass />
          <input
            ref={field}
            aria-label={t.label}
            placeholder={isOpen ? t.placeholder : t.label}
            autocomplete="off"
            spellcheck={false}
            onFocus={() => setOpen(true)}
            onInput={() => setWrong(undefined)}
          />
          <kbd>{isOpen ? 'Esc' : '/'}</kbd>
        </label>
        {isOpen && (
          <div class="found" tabIndex={-1}>
            {wrong !== undefined && <p role="alert">{wrong}</p>}
            <Mine />
            <button type="button" class="as-link close" onClick={close}>
              {t.close}
            </button>
          </div>
        )}
      </form>
    </search>
  )
}

function Mine() {
  const [mine, callMine] = useMyWallet()
  if (mine === undefined) return <p class="note">{t.free}</p>
  return (
    <>
      <p class="own">
        <a href={`/wallet/${mine}`}>
          <span class="mine">{t.mine}</span> <span class="code">{shortAddress(mine)}</span>
        </a>
        <button type="button" class="as-link" onClick={() => callMine(undefined)}>
          {t.forget}
        </button>
      </p>
      <p class="note">
        {t.kept} {t.free}
      </p>
    </>
  )
}

function onSlash(open: () => void): () => void {
  const listener = (event: KeyboardEvent) => {
    const isTyping = (event.target as Element).closest('input, textarea, select') !== null
    if (event.key !== '/' || isTyping || event.ctrlKey || event.metaKey || event.altKey) return
    event.preventDefault()
    open()
  }
  addEventListener('keydown', listener)
  return () => removeEventListener('keydown', listener)
}

function Glass() {
  return (
    <svg viewBox="0 0 18 18" aria-hidden="true">
      <circle cx="7.5" cy="7.5" r="5.3" fill="none" stroke="currentColor" stroke-width="1.5" />
      <path d="M11.5 11.5 16.5 16.5" stroke="currentColor" stroke-width="1.8" />
    </svg>
  )
}
