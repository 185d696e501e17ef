package io.jrun.examples;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;

import com.tngtech.archunit.core.importer.ImportOption.DoNotIncludeTests;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.library.dependencies.SlicesRuleDefinition;

@AnalyzeClasses(packages = "io.jrun.examples", importOptions = DoNotIncludeTests.class)
class ExamplesArchitectureTest {
    @ArchTest
    static final ArchRule EXAMPLES_USE_ONLY_WHAT_USERS_SEE = noClasses()
            .should()
            .dependOnClassesThat()
            .resideOutsideOfPackages(
                    "io.jrun.examples..",
                    "io.jrun.comm",
                    "io.jrun.comm.elastic",
                    "io.jrun.comm.file",
                    "io.jrun.comm.spelling",
                    "io.jrun.train..",
                    "io.jrun.trainer..",
                    "io.jrun.models..",
                    "org.bytedeco..",
                    "java..",
                    "org.jspecify..");

    @ArchTest
    static final ArchRule KMEANS_NEEDS_NO_LIBTORCH = noClasses()
            .that()
            .resideInAnyPackage("io.jrun.examples.kmeans", "io.jrun.trainer.arguments")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("io.jrun.train..", "io.jrun.models..", "org.bytedeco..");

    @ArchTest
    static final ArchRule PACKAGES_HAVE_NO_CYCLES =
            SlicesRuleDefinition.slices().matching("io.jrun.(**)").should().beFreeOfCycles();
}
