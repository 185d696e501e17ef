/** Training that goes on when workers are lost. Entry: {@code TrainElastic}. */
@NullMarked
package io.jrun.examples.elastic;

import org.jspecify.annotations.NullMarked;
