/**
 * Text as tokens: the reading of text, zip and JSON Lines, token files, and windows of tokens as a dataset. Entry
 * classes: {@code TokenIngestion} writes a token file, {@code TokenFile} maps it, {@code TokenDataset} gives its
 * windows.
 */
@NullMarked
package io.jrun.train.token;

import org.jspecify.annotations.NullMarked;
