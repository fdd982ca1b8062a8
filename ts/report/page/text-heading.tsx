import { useState } from 'preact/hooks'

/** Control characters and marks that change the direction of text; line breaks and tabs are shown as such. */
const INVISIBLE = /[^\P{Cc}\n\t]|[\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu
/** A text as it is shown: nothing in it is obeyed, and what cannot be seen is written out. */
export const visible = (text: string): string =>
  text.replaceAll('\r\n', '\n').replaceAll(INVISIBLE, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`)

/** A title, with a button that copies the text below it. */
export function TextHeading({ title, text }: { title: string; text: string }) {
  const [label, setLabel] = useState('Copy')
  const copy = (): void => {
    navigator.clipboard.writeText(text).then(
      () => setLabel('Copied'),
      () => setLabel('Copying is not allowed here'),
    )
  }
  return (
    <h3>
      {title}
      <button type="button" class="copy" onClick={copy} aria-label={`Copy: ${title}`}>
        {label}
      </button>
    </h3>
  )
}
