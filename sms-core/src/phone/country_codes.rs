//! The calling codes in use around the world, and the lengths of the numbers behind them.
//!
//! The table follows the assignments of ITU-T E.164: every country and every international service
//! that has a code. For +44, `uk_plan` decides. Codes that are spare, reserved or withdrawn (210,
//! 888, 999 and others) are absent, so that a number with such a code is malformed.
//!
//! The lengths are deliberately wide. They catch numbers with missing or extra digits, but must not
//! refuse the sender of an inbound message because a foreign plan has changed.

/// A calling code, and the lengths of the numbers that follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CallingCode {
    /// The number of digits in the code, 1 to 3.
    pub(super) length: usize,
    shortest: u8,
    longest: u8,
}

impl CallingCode {
    /// Whether a number of this many digits, without the code, can exist.
    pub(super) fn fits(self, digits: usize) -> bool {
        (usize::from(self.shortest)..=usize::from(self.longest)).contains(&digits)
    }
}

/// The code with which these digits (values 0 to 9) start. No code is a prefix of another, so the
/// order of the attempts does not matter.
pub(super) fn find(digits: &[u8]) -> Option<CallingCode> {
    // No code starts with zero, and the integer computed below would lose the zero.
    if digits.first() == Some(&0) {
        return None;
    }
    let mut value = 0_u16;
    for (index, &digit) in digits.iter().take(3).enumerate() {
        value = value * 10 + u16::from(digit);
        if let Ok(row) = CODES.binary_search_by_key(&value, |row| row.0) {
            let (_, shortest, longest) = CODES[row];
            return Some(CallingCode { length: index + 1, shortest, longest });
        }
    }
    None
}

/// Code, then minimum and maximum number of digits after it; in ascending order of the code.
const CODES: [(u16, u8, u8); 215] = [
    (1, 10, 10),   // North America and the Caribbean
    (7, 10, 10),   // Russia, Kazakhstan
    (20, 8, 10),   // Egypt
    (27, 9, 10),   // South Africa
    (30, 10, 12),  // Greece
    (31, 9, 11),   // Netherlands
    (32, 8, 9),    // Belgium
    (33, 9, 9),    // France
    (34, 9, 9),    // Spain
    (36, 8, 9),    // Hungary
    (39, 6, 11),   // Italy, Vatican City
    (40, 9, 9),    // Romania
    (41, 9, 12),   // Switzerland
    (43, 4, 13),   // Austria
    (44, 7, 10),   // United Kingdom (see `uk_plan`)
    (45, 8, 8),    // Denmark
    (46, 7, 12),   // Sweden
    (47, 8, 12),   // Norway
    (48, 9, 9),    // Poland
    (49, 5, 13),   // Germany
    (51, 8, 9),    // Peru
    (52, 10, 11),  // Mexico
    (53, 6, 10),   // Cuba
    (54, 10, 11),  // Argentina
    (55, 8, 11),   // Brazil
    (56, 9, 11),   // Chile
    (57, 8, 11),   // Colombia
    (58, 10, 10),  // Venezuela
    (60, 8, 10),   // Malaysia
    (61, 9, 10),   // Australia
    (62, 7, 13),   // Indonesia
    (63, 8, 11),   // Philippines
    (64, 8, 10),   // New Zealand
    (65, 8, 11),   // Singapore
    (66, 8, 13),   // Thailand
    (81, 9, 13),   // Japan
    (82, 8, 12),   // South Korea
    (84, 9, 10),   // Vietnam
    (86, 10, 12),  // China
    (90, 10, 12),  // Turkey
    (91, 10, 13),  // India
    (92, 9, 12),   // Pakistan
    (93, 9, 9),    // Afghanistan
    (94, 9, 9),    // Sri Lanka
    (95, 7, 10),   // Myanmar
    (98, 10, 10),  // Iran
    (211, 9, 9),   // South Sudan
    (212, 9, 9),   // Morocco, Western Sahara
    (213, 8, 9),   // Algeria
    (216, 8, 8),   // Tunisia
    (218, 9, 9),   // Libya
    (220, 7, 9),   // Gambia
    (221, 9, 9),   // Senegal
    (222, 8, 8),   // Mauritania
    (223, 8, 8),   // Mali
    (224, 8, 9),   // Guinea
    (225, 10, 10), // Ivory Coast
    (226, 8, 8),   // Burkina Faso
    (227, 8, 8),   // Niger
    (228, 8, 8),   // Togo
    (229, 8, 10),  // Benin
    (230, 7, 10),  // Mauritius
    (231, 7, 9),   // Liberia
    (232, 8, 8),   // Sierra Leone
    (233, 9, 9),   // Ghana
    (234, 8, 11),  // Nigeria
    (235, 8, 8),   // Chad
    (236, 8, 8),   // Central African Republic
    (237, 8, 9),   // Cameroon
    (238, 7, 7),   // Cape Verde
    (239, 7, 7),   // Sao Tome and Principe
    (240, 9, 9),   // Equatorial Guinea
    (241, 7, 8),   // Gabon
    (242, 9, 9),   // Congo
    (243, 7, 10),  // Democratic Republic of the Congo
    (244, 9, 9),   // Angola
    (245, 7, 9),   // Guinea-Bissau
    (246, 7, 7),   // Diego Garcia
    (247, 4, 6),   // Ascension
    (248, 7, 7),   // Seychelles
    (249, 9, 9),   // Sudan
    (250, 8, 9),   // Rwanda
    (251, 9, 9),   // Ethiopia
    (252, 6, 9),   // Somalia
    (253, 8, 8),   // Djibouti
    (254, 7, 10),  // Kenya
    (255, 9, 9),   // Tanzania
    (256, 9, 9),   // Uganda
    (257, 8, 8),   // Burundi
    (258, 8, 9),   // Mozambique
    (260, 9, 9),   // Zambia
    (261, 9, 10),  // Madagascar
    (262, 9, 9),   // French territories in the Indian Ocean
    (263, 5, 10),  // Zimbabwe
    (264, 8, 10),  // Namibia
    (265, 7, 9),   // Malawi
    (266, 8, 8),   // Lesotho
    (267, 7, 10),  // Botswana
    (268, 8, 9),   // Eswatini
    (269, 7, 7),   // Comoros
    (290, 4, 5),   // Saint Helena, Tristan da Cunha
    (291, 7, 7),   // Eritrea
    (297, 7, 7),   // Aruba
    (298, 6, 6),   // Faroe Islands
    (299, 6, 6),   // Greenland
    (350, 8, 8),   // Gibraltar
    (351, 9, 9),   // Portugal
    (352, 4, 11),  // Luxembourg
    (353, 7, 10),  // Ireland
    (354, 7, 9),   // Iceland
    (355, 6, 9),   // Albania
    (356, 8, 8),   // Malta
    (357, 8, 8),   // Cyprus
    (358, 5, 12),  // Finland
    (359, 6, 12),  // Bulgaria
    (370, 8, 8),   // Lithuania
    (371, 8, 8),   // Latvia
    (372, 7, 10),  // Estonia
    (373, 8, 8),   // Moldova
    (374, 8, 8),   // Armenia
    (375, 7, 11),  // Belarus
    (376, 6, 9),   // Andorra
    (377, 8, 9),   // Monaco
    (378, 6, 10),  // San Marino
    (379, 6, 11),  // Vatican City, not in use
    (380, 9, 10),  // Ukraine
    (381, 6, 12),  // Serbia
    (382, 8, 9),   // Montenegro
    (383, 8, 12),  // Kosovo
    (385, 6, 10),  // Croatia
    (386, 5, 8),   // Slovenia
    (387, 8, 9),   // Bosnia and Herzegovina
    (389, 8, 8),   // North Macedonia
    (420, 9, 12),  // Czechia
    (421, 9, 9),   // Slovakia
    (423, 7, 9),   // Liechtenstein
    (500, 5, 5),   // Falkland Islands
    (501, 7, 11),  // Belize
    (502, 8, 11),  // Guatemala
    (503, 7, 11),  // El Salvador
    (504, 8, 11),  // Honduras
    (505, 8, 8),   // Nicaragua
    (506, 8, 10),  // Costa Rica
    (507, 7, 11),  // Panama
    (508, 6, 9),   // Saint Pierre and Miquelon
    (509, 8, 8),   // Haiti
    (590, 9, 9),   // Guadeloupe, Saint Barthelemy, Saint Martin
    (591, 8, 9),   // Bolivia
    (592, 7, 7),   // Guyana
    (593, 8, 11),  // Ecuador
    (594, 9, 9),   // French Guiana
    (595, 6, 11),  // Paraguay
    (596, 9, 9),   // Martinique
    (597, 6, 7),   // Suriname
    (598, 7, 12),  // Uruguay
    (599, 7, 8),   // Curacao, Bonaire, Sint Eustatius, Saba
    (670, 7, 8),   // East Timor
    (672, 5, 6),   // Australian external territories
    (673, 7, 7),   // Brunei
    (674, 7, 7),   // Nauru
    (675, 7, 8),   // Papua New Guinea
    (676, 5, 7),   // Tonga
    (677, 5, 7),   // Solomon Islands
    (678, 5, 7),   // Vanuatu
    (679, 7, 11),  // Fiji
    (680, 7, 7),   // Palau
    (681, 6, 9),   // Wallis and Futuna
    (682, 5, 5),   // Cook Islands
    (683, 4, 7),   // Niue
    (685, 5, 10),  // Samoa
    (686, 5, 8),   // Kiribati
    (687, 6, 6),   // New Caledonia
    (688, 5, 7),   // Tuvalu
    (689, 6, 9),   // French Polynesia
    (690, 4, 7),   // Tokelau
    (691, 7, 7),   // Micronesia
    (692, 7, 7),   // Marshall Islands
    (800, 8, 8),   // International freephone
    (808, 8, 8),   // International shared cost service
    (850, 8, 10),  // North Korea
    (852, 5, 12),  // Hong Kong
    (853, 7, 8),   // Macao
    (855, 8, 10),  // Cambodia
    (856, 8, 10),  // Laos
    (870, 9, 12),  // Inmarsat
    (878, 10, 12), // Universal personal telecommunications
    (880, 6, 10),  // Bangladesh
    (881, 9, 10),  // Satellite networks
    (882, 7, 12),  // International networks
    (883, 7, 12),  // International networks
    (886, 7, 11),  // Taiwan
    (960, 7, 10),  // Maldives
    (961, 7, 8),   // Lebanon
    (962, 8, 9),   // Jordan
    (963, 8, 10),  // Syria
    (964, 8, 10),  // Iraq
    (965, 7, 8),   // Kuwait
    (966, 8, 10),  // Saudi Arabia
    (967, 7, 9),   // Yemen
    (968, 7, 9),   // Oman
    (970, 8, 10),  // Palestine
    (971, 5, 12),  // United Arab Emirates
    (972, 7, 12),  // Israel
    (973, 8, 8),   // Bahrain
    (974, 7, 11),  // Qatar
    (975, 6, 8),   // Bhutan
    (976, 8, 10),  // Mongolia
    (977, 8, 11),  // Nepal
    (979, 9, 9),   // International premium rate service
    (992, 9, 9),   // Tajikistan
    (993, 8, 8),   // Turkmenistan
    (994, 9, 9),   // Azerbaijan
    (995, 9, 9),   // Georgia
    (996, 9, 10),  // Kyrgyzstan
    (998, 9, 9),   // Uzbekistan
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_ascend_and_none_is_a_prefix_of_another() {
        assert!(CODES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        for (code, ..) in CODES {
            for shorter in [code / 10, code / 100] {
                assert!(
                    shorter == 0 || !CODES.iter().any(|row| row.0 == shorter),
                    "{code} begins with {shorter}"
                );
            }
        }
    }

    #[test]
    fn lengths_are_ranges_within_fifteen_digits() {
        for (code, shortest, longest) in CODES {
            let code_length = code.to_string().len();
            assert!(shortest <= longest, "{code}");
            assert!(code_length + usize::from(longest) <= 15, "{code}");
            assert!(code_length + usize::from(shortest) >= 6, "{code}");
        }
    }

    #[test]
    fn spare_and_reserved_codes_are_absent() {
        for spare in [210_u16, 259, 280, 384, 422, 671, 684, 699, 801, 888, 969, 990, 999] {
            let digits: Vec<u8> = spare.to_string().bytes().map(|byte| byte - b'0').collect();
            assert_eq!(find(&digits), None, "{spare}");
        }
        assert_eq!(find(&[]), None);
        assert_eq!(find(&[0, 4, 4]), None);
    }
}
