// The entry point of reports.
import { render } from 'preact';
import './style.css';
import { Root } from './view/Root';

render(<Root />, document.getElementById('app')!);
