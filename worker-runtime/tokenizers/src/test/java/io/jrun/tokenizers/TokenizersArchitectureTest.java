package io.jrun.tokenizers;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;

@AnalyzeClasses(packages = "io.jrun.tokenizers", importOptions = DoNotIncludeTests.class)
class TokenizersArchitectureTest {
    @ArchTest
    static final ArchRule TOKENIZERS_KNOW_ONLY_THE_DATA_OF_TRAIN = noClasses()
            .should()
            .dependOnClassesThat()
            .resideOutsideOfPackages(
                    "io.jrun.tokenizers..",
                    "io.jrun.comm.file",
                    "io.jrun.train.data",
                    "io.jrun.train.json",
                    "io.jrun.train.token",
                    "ai.djl..",
                    "java..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule PACKAGES_HAVE_NO_CYCLES =
            SlicesRuleDefinition.slices().matching("io.jrun.(**)").should().beFreeOfCycles();
}
