// The viewer's beginning: loads what the page holds and shows it.
import { render } from 'preact';
import { Session } from './model/session';
import { embedded } from './source';
import './style.css';
import { App } from './view/App';

async function start(): Promise<void> {
    const app = document.getElementById('app')!;
    try {
        const found = await embedded.load();
        if (!found) throw new Error('there is no profile in this page');
        render(<App session={new Session(found.profile, found.base)} />, app);
    } catch (e) {
        app.textContent = `This report cannot be shown: ${e instanceof Error ? e.message : e}.`;
    }
}

void start();
