// Comments, attributes and origin of a profile. Comments come first, because people wrote them for the readers of the profile.
import { About, isEmpty } from '../model/about';

export function AboutProfile({ about }: { about: About }) {
    if (isEmpty(about)) return null;
    return (
        <section class="about" aria-label="About this profile" data-about>
            {about.comments.map((c) => (
                <p key={c} class="comment" data-comment>
                    {c}
                </p>
            ))}
            <dl>
                {about.temporality && (
                    <div data-temporality>
                        <dt>temporality</dt>
                        <dd>{about.temporality}</dd>
                    </div>
                )}
                {about.original && (
                    <div data-original>
                        <dt>original file</dt>
                        <dd>{about.original}</dd>
                    </div>
                )}
                {about.attributes.map((a) => (
                    <div key={a.key} data-attribute={a.key}>
                        <dt>{a.key}</dt>
                        <dd title={a.text}>{a.text}</dd>
                    </div>
                ))}
            </dl>
        </section>
    );
}
