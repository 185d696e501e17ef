/** BERT with its masked language model head (Devlin et al. 2018). */
@NullMarked
package io.jrun.models.bert;

import org.jspecify.annotations.NullMarked;
