import type { ComponentChildren } from 'preact'

/** A switch with words beside it. */
export function Tick(props: {
  readonly isOn: boolean
  readonly children: ComponentChildren
  turn(on: boolean): void
}) {
  return (
    <label class="tick">
      <input
        type="checkbox"
        checked={props.isOn}
        onChange={(event) => props.turn(event.currentTarget.checked)}
      />
      <span>{props.children}</span>
    </label>
  )
}
