// The entry point of the page of `kiln serve`.
import { render } from 'preact';
import 'uplot/dist/uPlot.min.css';
import './style.css';
import './live.css';
import { Live } from './view/live/Live';

render(<Live />, document.getElementById('app')!);
