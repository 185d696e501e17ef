/** The example programs of own-model.jar: models of one's own, trained by the trainer. Entry class: {@code OwnModel}. */
@NullMarked
package io.jrun.examples.own;

import org.jspecify.annotations.NullMarked;
