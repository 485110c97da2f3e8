// The entry point of reports.
import { render } from 'preact';
import './style.css';
import { Root } from './view/Root';

// The theme of the progress; the viewer then uses the chosen one.
document.documentElement.dataset['theme'] = matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light';
render(<Root />, document.getElementById('app')!);
