/**
 * The part of Jinja that chat templates use, with limits of steps and output. Entry class: {@code Template}. A template
 * cannot read files, reach classes or change its variables.
 *
 * <p>Internal to jrun: its types are public only for jrun's other packages and modules.
 */
@NullMarked
package io.jrun.train.jinja;

import org.jspecify.annotations.NullMarked;
