/** Training that goes on when workers are lost. Entry: {@link io.jrun.examples.elastic.TrainElastic}. */
@NullMarked
package io.jrun.examples.elastic;

import org.jspecify.annotations.NullMarked;
