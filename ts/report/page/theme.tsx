import { useEffect, useState } from 'preact/hooks'

const THEMES = ['auto', 'light', 'dark'] as const
type Theme = (typeof THEMES)[number]

const systemIsDark = matchMedia('(prefers-color-scheme: dark)')

/** Storage fails for pages of files in some browsers; the choice then lasts as long as the page. */
function remembered(): Theme {
  try {
    const theme = localStorage.getItem('toolwright-theme') as Theme
    return THEMES.includes(theme) ? theme : 'auto'
  } catch {
    return 'auto'
  }
}

/** Switches between the system's theme, light and dark. */
export function ThemeButton() {
  const [theme, setTheme] = useState(remembered)
  useEffect(() => {
    const apply = (): void => {
      document.documentElement.dataset['theme'] = theme === 'auto' ? (systemIsDark.matches ? 'dark' : 'light') : theme
      dispatchEvent(new Event('themechange'))
    }
    apply()
    systemIsDark.addEventListener('change', apply)
    try {
      localStorage.setItem('toolwright-theme', theme)
    } catch {
      // See `remembered`.
    }
    return () => systemIsDark.removeEventListener('change', apply)
  }, [theme])
  const next = THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme
  return (
    <button type="button" class="theme" onClick={() => setTheme(next)}>
      Theme: {theme}
    </button>
  )
}

/** Calls the listener when the colours of the page change. */
export function onThemeChange(listener: () => void): () => void {
  addEventListener('themechange', listener)
  return () => removeEventListener('themechange', listener)
}

/** A colour of the style sheet, for what is drawn. */
export const colour = (name: string): string => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim()
